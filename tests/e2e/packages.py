#!/usr/bin/env python3
"""What is installed and packed: a prefix, an archive, a Debian package, a wheel. Each converts a model in a clean place
and is found by CMake.

    packages.py --build DIR [TEST…]

DIR is a build folder of ampc's own, whose program is packed. Under AMPC_FULL the wheel is built from the sources alone.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from build_tool import run
from clean_root import CleanRoot
from compiler import REPOSITORY

ARGS = None
EXAMPLE = REPOSITORY / "examples" / "cmake-project"


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.home = self.folder / "home"
        self.home.mkdir()
        self.want = self.convert(ARGS.build / "bin" / "ampc")

    def ran(self, *command, **more):
        done = run(*command, **more)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def convert(self, *program):
        """The bytes that the example's model becomes, with no environment and an empty home."""
        out = self.folder / "out.onnx"
        out.unlink(missing_ok=True)
        self.ran(*program, EXAMPLE / "digits.amp", EXAMPLE / "digits.onnx", "-o", out, "--dtype", "fp16", env={"HOME": str(self.home)})
        self.assertEqual(list(self.home.iterdir()), [])
        return out.read_bytes()

    def convert_in(self, root, program):
        for name in ("digits.amp", "digits.onnx", "rules"):
            source = EXAMPLE / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, root.folder / "home" / name)
        done = root.run(program, "home/digits.amp", "home/digits.onnx", "-o", "home/out.onnx", "--dtype", "fp16")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual((root.folder / "home" / "out.onnx").read_bytes(), self.want)

    def clean_root(self, packages=("libc6",)):
        if why := CleanRoot.missing():
            print(f"no clean root to run in: {why}")
            return None
        return CleanRoot(self.folder / "root", packages)

    def found_by_cmake(self, *definitions):
        build = self.folder / "example"
        self.ran("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", build, *definitions)
        self.ran("cmake", "--build", build, "--target", "digits_model")
        self.assertEqual((build / "digits.fp16.onnx").read_bytes(), self.want)

    def test_prefix_that_is_moved(self):
        first, prefix = self.folder / "first", self.folder / "ü moved"
        self.ran("cmake", "--install", ARGS.build, "--prefix", first, "--component", "ampc")
        first.rename(prefix)
        self.assertEqual(self.convert(prefix / "bin" / "ampc"), self.want)
        self.found_by_cmake(f"-DCMAKE_PREFIX_PATH={prefix}")
        for name in prefix.rglob("*"):
            if name.is_file() and name.suffix in (".cmake", ".in", ".amp"):
                self.assertNotIn(str(ARGS.build), name.read_text())

    def test_version_is_asked_for(self):
        prefix = self.folder / "prefix"
        self.ran("cmake", "--install", ARGS.build, "--prefix", prefix, "--component", "ampc")
        for wanted, found in (("0.1", True), ("0.2", False), ("1", False)):
            project = self.folder / f"v{wanted}"
            project.mkdir()
            (project / "CMakeLists.txt").write_text(
                f"cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES NONE)\nfind_package(ampc {wanted} CONFIG REQUIRED)\n")
            done = run("cmake", "-S", project, "-B", project / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
            self.assertEqual(done.returncode == 0, found, done.stdout)

    def pack(self, generator, pattern):
        self.ran("cpack", "--config", ARGS.build / "CPackConfig.cmake", "-G", generator, "-B", self.folder / "packed")
        (package,) = (self.folder / "packed").glob(pattern)
        return package

    def test_archive(self):
        unpacked = self.folder / "unpacked"
        unpacked.mkdir()
        self.ran("tar", "-xzf", self.pack("TGZ", "*.tar.gz"), cwd=unpacked)
        (prefix,) = unpacked.iterdir()
        self.assertEqual(self.convert(prefix / "bin" / "ampc"), self.want)
        self.found_by_cmake(f"-DCMAKE_PREFIX_PATH={prefix}")
        for library in (prefix / "lib" / "ampc").iterdir():
            self.assertNotRegex(library.name, r"^lib(c|m|dl|pthread)\.so")
        self.assertTrue(list((prefix / "share" / "doc" / "ampc" / "libraries").iterdir()))
        if root := self.clean_root():
            shutil.copytree(prefix, root.folder / "opt" / "any where")
            self.convert_in(root, "/opt/any where/bin/ampc")

    def test_debian_package(self):
        if not shutil.which("dpkg-shlibdeps"):
            self.skipTest("dpkg-dev is not installed")
        package = self.pack("DEB", "*.deb")
        control = self.ran("dpkg-deb", "-f", package)
        self.assertRegex(control, r"(?m)^Package: ampc$")
        needs = re.findall(r"([a-z0-9.+-]+)(?: \(.*?\))?(?:, |$)", re.search(r"(?m)^Depends: (.*)$", control)[1])
        self.assertIn("libc6", needs)
        self.assertIn("libtbb12", needs)
        files = self.folder / "files"
        self.ran("dpkg-deb", "-x", package, files)
        self.assertEqual({p.relative_to(files).parts[0] for p in files.rglob("*")}, {"usr"})
        self.assertTrue((files / "usr" / "share" / "doc" / "ampc" / "copyright").exists())
        self.assertFalse((files / "usr" / "lib").exists())
        self.assertEqual(self.convert(files / "usr" / "bin" / "ampc"), self.want)
        self.found_by_cmake(f"-DCMAKE_PREFIX_PATH={files / 'usr'}")
        if root := self.clean_root(needs):  # nothing but what it says it needs
            self.ran("dpkg-deb", "-x", package, root.folder / "unpacked")
            shutil.copytree(root.folder / "unpacked" / "usr", root.folder / "usr", dirs_exist_ok=True)
            self.convert_in(root, "/usr/bin/ampc")

    def wheel(self, *settings):
        out = self.folder / "wheels"
        done = run(sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", out,
                   *(f"--config-settings={s}" for s in settings), REPOSITORY, env=dict(os.environ), timeout=3000)
        if done.returncode != 0 and "scikit-build-core" in done.stdout and "No matching distribution" in done.stdout:
            self.skipTest("scikit-build-core cannot be had here")
        self.assertEqual(done.returncode, 0, done.stdout)
        (wheel,) = out.glob("*.whl")
        return wheel

    def hold_wheel(self, wheel):
        self.assertRegex(wheel.name, r"^ampc-[0-9.]+-py3-none-linux_\w+\.whl$")
        site = self.folder / "venv"
        self.ran(sys.executable, "-m", "venv", site)
        python = site / "bin" / "python"
        self.ran(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-index", wheel)
        self.assertEqual(self.convert(site / "bin" / "ampc"), self.want)
        self.assertEqual(self.convert(python, "-m", "ampc"), self.want)
        done = run(site / "bin" / "ampc", "no-such-file.amp", "m.onnx")
        self.assertEqual(done.returncode, 1, done.stdout)  # the program's own exit code
        package = Path(self.ran(python, "-m", "ampc", "--cmake-dir").strip())
        self.found_by_cmake(f"-Dampc_DIR={package}")
        shutil.rmtree(self.folder / "example")
        prefix = Path(self.ran(python, "-c", "from importlib.metadata import entry_points as e; import importlib.resources as r; "
                               "(p,) = e(group='cmake.prefix'); print(r.files(p.load()))").strip())
        self.found_by_cmake(f"-DCMAKE_PREFIX_PATH={prefix}")
        self.assertTrue((Path(self.ran(python, "-m", "ampc", "--rules-dir").strip()) / "default.amp").exists())
        self.assertTrue(os.access(self.ran(python, "-m", "ampc", "--program").strip(), os.X_OK))
        if root := self.clean_root():
            shutil.copytree(prefix, root.folder / "site")
            self.convert_in(root, "/site/bin/ampc")

    def test_wheel(self):
        self.hold_wheel(self.wheel(f"cmake.define.AMPC_PREBUILT={ARGS.build / 'bin' / 'ampc'}"))

    @unittest.skipUnless(os.environ.get("AMPC_FULL"), "takes minutes; AMPC_FULL=1 runs it")
    def test_wheel_from_the_sources(self):
        self.hold_wheel(self.wheel())


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    ARGS, rest = parser.parse_known_args()
    ARGS.build = ARGS.build.resolve()
    missing = [t for t in ("cmake", "cpack", "ninja", "make") if not shutil.which(t)]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return 77
    return not unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
