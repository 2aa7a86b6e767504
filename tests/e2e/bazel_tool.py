"""Bazel under test: without network, in a workspace and an output root of its own."""

import contextlib
import json
import shutil

import debian
from build_tool import clean_environment, run

PACKAGE = "bazel-bootstrap"


def missing():
    """Why there is no Bazel, and nothing where there is one; tries to install Debian's."""
    return debian.missing(PACKAGE, lambda: shutil.which("bazel"))


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def call(folder, root, *arguments):
    """Bazel with the same startup options each time: with others it would start anew."""
    scratch = root.parent / "scratch"  # where it leaves a log of every build, beside the one that was asked for
    scratch.mkdir(exist_ok=True)
    return run("bazel", "--nohome_rc", f"--output_user_root={root}", "--max_idle_secs=60", f"--host_jvm_args=-Djava.io.tmpdir={scratch}",
               *arguments, cwd=folder, env=clean_environment(LANG="C.UTF-8"))


class Workspace:
    """A workspace in `folder` with the ampc of `prefix`; `root` is what Bazel writes to."""

    def __init__(self, folder, root, prefix):
        self.folder, self.root, self.prefix = folder, root, prefix
        if folder.exists():
            for path in folder.iterdir():
                if path.is_symlink():  # Bazel's own
                    continue
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        write(folder, {"WORKSPACE": f"""workspace(name = "project")
local_repository(name = "rules_ampc", path = "{prefix}/share/ampc/bazel")
load("@rules_ampc//:repositories.bzl", "ampc_repository")
ampc_repository(name = "ampc", path = "{prefix}")
register_toolchains("@ampc//:toolchain")
"""})

    def add(self, files):
        write(self.folder, files)

    def bazel(self, command, *targets, more=()):
        """The finished process, and what Bazel logs of each process that it ran and that succeeded."""
        log = self.folder.parent / f"{self.folder.name} log.json"
        log.unlink(missing_ok=True)
        offline = self.prefix / "share/ampc/bazel/offline"
        stand_ins = [f"--override_repository={path.name}={path}" for path in sorted(offline.iterdir()) if path.is_dir()]
        done = call(self.folder, self.root, command, "--color=no", "--curses=no", *stand_ins, f"--execution_log_json_file={log}", *more,
                    "--", *targets)
        return done, _spawns(log.read_text(encoding="utf-8")) if log.exists() else []


@contextlib.contextmanager
def stopped(folder):
    """Ends the Bazels of the workspaces in `folder`, and makes what they wrote removable."""
    yield
    for workspace in folder.glob("*/WORKSPACE"):
        call(workspace.parent, folder / "root", "shutdown")
    for path in (folder / "root").rglob("*"):  # outputs are read-only, and so are their folders
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def _spawns(text):
    """JSON objects, one behind the other."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        while at < len(text) and text[at].isspace():
            at += 1
        if at < len(text):
            spawn, at = decoder.raw_decode(text, at)
            found.append(spawn)
    return found
