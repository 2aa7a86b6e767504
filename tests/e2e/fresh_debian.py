#!/usr/bin/env python3
"""The archive, the Debian package and the wheel in a Debian that debootstrap makes, where apt has to bring what they need.

    fresh_debian.py --build DIR [--suite bookworm]

Each converts the example's model there, with the same bytes, and is found by that Debian's CMake. Takes minutes, root and
a network, so that it runs under AMPC_FULL alone; without debootstrap it is skipped.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from build_tool import run
from clean_root import CleanRoot
from compiler import REPOSITORY

EXAMPLE = REPOSITORY / "examples" / "cmake-project"
INSIDE = r"""
set -e
export DEBIAN_FRONTEND=noninteractive
cd /tmp
check() {  # name, program, arguments for CMake
  "$2" project/digits.amp project/digits.onnx -o $1.onnx --dtype fp16
  shift 2
  cmake -G Ninja -S project -B build -DCMAKE_BUILD_TYPE=Release "$@" && cmake --build build && rm -r build
}
apt-get update -q
apt-get install -qy --no-install-recommends cmake ninja-build python3-venv
mkdir archive
tar -xzf packed/*.tar.gz -C archive --strip-components 1
check archive archive/bin/ampc -DCMAKE_PREFIX_PATH=/tmp/archive
apt-get install -qy --no-install-recommends ./packed/*.deb
check debian /usr/bin/ampc
apt-get purge -qy ampc
test ! -e /usr/bin/ampc -a ! -e /usr/share/ampc
python3 -m venv venv
venv/bin/pip install -q --no-index packed/*.whl
check wheel venv/bin/ampc -Dampc_DIR="$(venv/bin/python -m ampc --cmake-dir)"
"""
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(fresh LANGUAGES NONE)
find_package(ampc CONFIG REQUIRED)
amp_compile_model(TARGET digits MODEL digits.onnx RULES digits.amp DTYPE fp16 bf16)
"""


def need(done, what):
    if done.returncode != 0:
        sys.exit(f"{what} failed\n{done.stdout[-4000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--suite", default="bookworm")
    args = parser.parse_args()
    build = args.build.resolve()
    why = None
    if not os.environ.get("AMPC_FULL"):
        why = "takes minutes; AMPC_FULL=1 runs it"
    elif not shutil.which("debootstrap"):
        why = "debootstrap is not installed"
    elif os.geteuid() != 0:
        why = "debootstrap needs root"
    if why := why or CleanRoot.missing():
        print(f"skipped: {why}")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root"
        need(run("debootstrap", "--variant=minbase", args.suite, root, timeout=1800), "debootstrap")
        packed = root / "tmp" / "packed"
        for generator in ("TGZ", "DEB"):
            need(run("cpack", "--config", build / "CPackConfig.cmake", "-G", generator, "-B", packed), "cpack")
        need(run(sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", packed,
                 f"--config-settings=cmake.define.AMPC_PREBUILT={build / 'bin' / 'ampc'}", REPOSITORY, env=dict(os.environ)), "pip wheel")
        project = root / "tmp" / "project"
        shutil.copytree(EXAMPLE, project)
        (project / "CMakeLists.txt").write_text(PROJECT)
        need(CleanRoot.run_in(root, "sh", "-c", INSIDE, timeout=1800), "a package in a fresh Debian")
        out = Path(scratch) / "want.onnx"
        need(run(build / "bin" / "ampc", EXAMPLE / "digits.amp", EXAMPLE / "digits.onnx", "-o", out, "--dtype", "fp16"), "ampc")
        for name in ("archive", "debian", "wheel"):
            if (root / "tmp" / f"{name}.onnx").read_bytes() != out.read_bytes():
                sys.exit(f"the model of the {name} is another one")
            print(f"{name}: converts a model, and CMake finds it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
