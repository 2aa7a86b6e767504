"""Debian packages that a test needs, installed where that can be done without asking."""

import os
import shutil
import subprocess


def missing(package, there):
    """Why a package is not there, and nothing where it is; `there()` tells. Tries to install it."""
    if there():
        return None
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return f"{package} is not installed; Debian has it under that name"
    install = ["apt-get", "install", "-y", "--no-install-recommends", package]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (install, ["apt-get", "update"], install):
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=600)
        if there():
            return None
    return f"{package} is not installed, and could not be"
