"""A root folder with nothing in it but what some Debian packages and their dependencies have, and programs run in it."""

import os
import re
import shutil
import subprocess
from pathlib import Path


def closure(packages):
    """The packages with all that they depend on, as installed on this machine; an alternative is the first one that is."""
    done, todo = set(), list(packages)
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        asked = subprocess.run(["dpkg-query", "-W", "-f=${Depends},${Pre-Depends}", name], text=True, capture_output=True, check=True)
        todo += filter(None, map(first_installed, asked.stdout.split(",")))
    return sorted(done)


def first_installed(alternatives):
    for one in alternatives.split("|"):
        name = re.sub(r"[ (:].*", "", one.strip())
        if name and subprocess.run(["dpkg-query", "-W", name], capture_output=True).returncode == 0:
            return name
    if alternatives.strip():
        raise AssertionError(f"not installed here: {alternatives}")
    return None


def unshare():
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--mount", "--pid", "--fork"]


class CleanRoot:
    def __init__(self, folder, packages=("libc6",)):
        self.folder = Path(folder)
        for name in ("usr/bin", "usr/lib", "usr/lib64", "proc", "tmp", "home"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for name in ("bin", "lib", "lib64"):
            (self.folder / name).symlink_to(f"usr/{name}")
        for package in closure(packages):
            listed = subprocess.run(["dpkg", "-L", package], text=True, capture_output=True, check=True).stdout
            for name in listed.splitlines():
                if name.startswith(("/usr/share/", "/etc/")) or os.path.isdir(name) or not os.path.exists(name):
                    continue
                target = self.folder / Path(name).relative_to("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(name, target, follow_symlinks=False)

    def run(self, *command):
        """Runs it in there, with no environment but an empty home."""
        return self.run_in(self.folder, *command)

    @staticmethod
    def run_in(folder, *command, timeout=120):
        return subprocess.run([*unshare(), f"--mount-proc={folder}/proc", "chroot", folder, *command], text=True, timeout=timeout,
                              env={"HOME": "/home", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @staticmethod
    def missing():
        """Why there can be no such root here, or nothing."""
        for tool in ("dpkg-query", "unshare", "chroot"):
            if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
                return f"{tool} is not installed"
        tried = subprocess.run([*unshare(), "--mount-proc", "true"], text=True, capture_output=True)
        return f"unshare: {tried.stderr.strip()}" if tried.returncode else None
