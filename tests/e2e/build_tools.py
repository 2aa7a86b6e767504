#!/usr/bin/env python3
"""Whether build tools run ampc when they have to, and only then: make, Ninja, and CMake with its generators for them.

    build_tools.py --build DIR [--cache DIR] [TEST…]

DIR is a build folder of ampc's own. Names have spaces, '#', '$', '(' and letters beyond ASCII, as far as the tools can.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

from build_tool import (Make, Ninja, ShardedMake, ShardedNinja, cmake_tool, install, oldest_cmake, run, unmeasured)
from compiler import CASES

ARGS = None
PREFIX = None
OLDEST = None
FINE = "ü (1) "  # each tool takes these
ODD = "ü (1) #$ "
FP32 = 'amp 1\nnode "*" keep fp32\n'


class Truth(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def project(self, tool, odd):
        """The parts of a project: a model with a data file, rules that import a file, and a file that nothing reaches."""
        self.inputs = self.folder / f"in {odd}".rstrip()
        self.parts = self.inputs / f"{odd}parts"
        self.parts.mkdir(parents=True)
        self.model = self.inputs / f"{odd}model.onnx"
        self.data = self.inputs / "external_data.data"
        shutil.copy(CASES / "external_data.onnx", self.model)
        shutil.copy(CASES / "external_data.data", self.data)
        self.reached = self.parts / f"{odd}reached.amp"
        self.unreached = self.parts / f"{odd}unreached.amp"
        for path in (self.reached, self.unreached):
            path.write_text("amp 1\n")
        self.rules = self.inputs / f"{odd}team.amp"
        self.rules.write_text(f'amp 1\nimport "default.amp"\nimport "{self.parts.name}/{self.reached.name}"\n')
        work = self.folder / "work"
        work.mkdir()
        # CMake refuses outputs with '#' itself.
        plain = issubclass(tool, (Make, Ninja))
        made = tool(work, PREFIX, self.model, self.rules, f"{odd}out.onnx" if plain else f"{odd}out.onnx".replace("#", ""))
        made.write()
        self.tool = made

    def expect(self, runs, why, fails=False):
        done, ran = self.tool.build()
        self.assertEqual(done.returncode != 0, fails, f"{why}: exit {done.returncode}\n{done.stdout}")
        self.assertEqual(ran, runs, f"{why}\n{done.stdout}")
        if not fails:
            self.assertTrue(self.tool.output.exists(), why)

    def hold(self, tool, odd="", settles=True):
        """Each line of the table; `settles` is whether the tool can see that there is nothing to do."""
        again = 0 if settles else 1
        self.project(tool, odd)
        self.expect(1, "first build")
        self.expect(again, "nothing to do")
        first = self.tool.output.read_bytes()

        (self.inputs / "unrelated.txt").write_text("x")
        (self.parts / "unrelated.amp").write_text("amp 1\n")
        self.expect(again, "a file that has nothing to do with it")
        self.unreached.write_text("amp 1\ndeny MatMul\n")
        self.expect(again, "a rule file that no import reaches")

        self.reached.write_text(FP32)
        self.expect(1, "a rule file that an import reaches")
        denied = self.tool.output.read_bytes()
        self.assertNotEqual(denied, first)
        self.expect(again, "nothing to do after new rules")
        self.reached.write_text("amp 1\n")
        self.expect(1, "the rules as they were")
        self.assertEqual(self.tool.output.read_bytes(), first)

        self.reached.touch()
        self.expect(1, "a rule file of the same text, which only looks newer")
        self.expect(again, "nothing to do, although no byte of the output changed")

        data = bytearray(self.data.read_bytes())
        data[3] ^= 0x80  # the sign of the first weight
        self.data.write_bytes(data)
        self.expect(1, "external data")
        self.assertNotEqual(self.tool.output.read_bytes(), first)
        self.expect(again, "nothing to do after new data")

        self.tool.output.unlink()
        self.expect(1, "the output is gone")
        self.expect(again, "nothing to do after the output was made again")
        kept = self.tool.output.read_bytes()

        self.reached.write_text("amp 1\ndeny MatMull\n")
        self.expect(1, "rules that are wrong", fails=True)
        self.expect(1, "a run that failed is tried again", fails=True)
        if self.tool.output.exists():
            self.assertEqual(self.tool.output.read_bytes(), kept, "a run that failed leaves the output alone")
        self.reached.write_text("amp 1\n")
        self.expect(1, "rules that are mended")
        self.assertEqual(self.tool.output.read_bytes(), kept)
        self.expect(again, "nothing to do at the end")

        rules = self.rules.read_text()
        self.rules.write_text('amp 1\nimport "default.amp"\n')
        self.expect(1, "an import is gone")
        self.reached.write_text("amp 1\n# x\n")
        self.expect(again, "a file that was imported once")
        self.rules.write_text(rules)
        self.expect(1, "the import is there again")
        self.rules.write_text('amp 1\nimport "default.amp"\n')
        self.reached.unlink()
        self.expect(1, "an import and its file are gone")
        self.expect(again, "nothing to do without them")
        self.reached.write_text("amp 1\n")
        self.rules.write_text(rules)
        self.expect(1, "the import is there at the end")

        (PREFIX / "share" / "ampc" / "rules" / "levels.amp").touch()
        self.expect(1, "the rules that ship with ampc")
        (PREFIX / "bin" / "ampc").touch()
        if not isinstance(self.tool, (Make, Ninja)):  # those projects do not name the program
            self.expect(1, "another ampc")
        self.expect(again, "nothing to do after another ampc")

    def hold_sharded(self, tool, odd, cut_short):
        """A plan, two shards, and the output of them. `cut_short`: the tool stops behind an output of the same bytes."""
        self.project(tool, odd)
        self.expect(4, "first build")
        self.expect(0, "nothing to do")
        first = self.tool.output.read_bytes()
        single = self.folder / "single.onnx"
        done = run(self.tool.program, self.rules, self.model, "--dtype", "fp16", "-q", "-o", single)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(first, single.read_bytes())

        self.unreached.write_text("amp 1\ndeny MatMul\n")
        self.expect(0, "a rule file that no import reaches")
        self.reached.write_text(FP32)
        self.expect(4, "a rule file that an import reaches")
        self.assertNotEqual(self.tool.output.read_bytes(), first)
        self.reached.write_text("amp 1\n")
        self.expect(4, "the rules as they were")
        self.assertEqual(self.tool.output.read_bytes(), first)
        self.reached.touch()
        self.expect(1 if cut_short else 4, "a rule file of the same text, which only looks newer")
        self.expect(0, "nothing to do after it")

        data = bytearray(self.data.read_bytes())
        data[3] ^= 0x80  # the sign of the first weight
        self.data.write_bytes(data)
        # Where weights were not read, the plan is as it was, and the shards that read the file know of it themselves.
        self.expect(4, "external data")
        self.assertNotEqual(self.tool.output.read_bytes(), first)
        self.expect(0, "nothing to do after new data")

        shard = self.tool.folder / "build" / "2.shard"
        shard.unlink()
        self.expect(2, "a shard is gone")
        self.tool.output.unlink()
        self.expect(1, "the output is gone")
        self.expect(0, "nothing to do after it was made again")

        self.reached.write_text("amp 1\ndeny MatMull\n")
        self.expect(1, "rules that are wrong", fails=True)
        self.expect(1, "a plan that failed is tried again", fails=True)
        self.rules.write_text('amp 1\nimport "default.amp"\n')
        self.reached.unlink()
        self.expect(1 if cut_short else 4, "an import and its file are gone")
        self.expect(0, "nothing to do without them")

    def test_shards_by_make(self):
        self.hold_sharded(ShardedMake, ODD, False)

    def test_shards_by_ninja(self):
        self.hold_sharded(ShardedNinja, ODD, True)

    def test_unmeasured_shards_by_make(self):
        self.hold_sharded(unmeasured(ShardedMake), "", False)

    def test_unmeasured_shards_by_ninja(self):
        self.hold_sharded(unmeasured(ShardedNinja), "", True)

    def hold_cmake(self, cmake, generator):
        self.hold(cmake_tool(cmake, generator), FINE if "Ninja" in generator else ODD)

    def test_make(self):
        self.hold(Make)

    def test_make_with_odd_names(self):
        self.hold(Make, ODD)

    def test_ninja(self):
        self.hold(Ninja)

    def test_ninja_with_odd_names(self):
        self.hold(Ninja, ODD)

    def test_cmake_with_plain_names(self):
        self.hold(cmake_tool(shutil.which("cmake"), "Ninja"))

    def test_cmake_with_ninja(self):
        self.hold_cmake(shutil.which("cmake"), "Ninja")

    def test_cmake_with_ninja_multi_config(self):
        self.hold_cmake(shutil.which("cmake"), "Ninja Multi-Config")

    def test_cmake_with_make(self):
        self.hold_cmake(shutil.which("cmake"), "Unix Makefiles")

    def test_oldest_cmake_with_ninja(self):
        self.hold_oldest("Ninja")

    def test_oldest_cmake_with_make(self):
        self.hold_oldest("Unix Makefiles")

    def hold_oldest(self, generator):
        if OLDEST is None:
            self.skipTest("the oldest CMake cannot be had here")
        self.hold_cmake(OLDEST, generator)

    def test_cmake_with_ninja_says_what_it_cannot(self):
        """'#' and '$' are lost in CMake's rewriting: compiled each time, never once too seldom, and the user is told."""
        tool = cmake_tool(shutil.which("cmake"), "Ninja")
        self.project(tool, ODD)
        told = run(shutil.which("cmake"), "-S", self.tool.folder, "-B", self.tool.folder / "build").stdout
        self.assertIn("misread '#' and '$'", " ".join(told.split()))
        self.expect(1, "first build")
        self.reached.write_text(FP32)
        self.expect(1, "a rule file that an import reaches")

    def test_examples(self):
        """The plain projects that a newcomer copies."""
        for tool in ("make", "ninja"):
            with self.subTest(tool=tool):
                source = Path(__file__).resolve().parents[2] / "examples" / "make-project"
                folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "project"
                shutil.copytree(source, folder)
                env = {**os.environ, "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}"}
                outputs = [folder / "build" / f"digits.{dtype}.onnx" for dtype in ("fp16", "bf16")]
                for runs in (2, 0):
                    (PREFIX / "runs").write_text("")
                    done = run(tool, cwd=folder, env=env)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertEqual(len((PREFIX / "runs").read_text()), runs, done.stdout)
                    self.assertTrue(all(o.exists() for o in outputs))
                self.hold_deleted_import(tool, folder, env)
                for file in ("Makefile", "build.ninja"):
                    self.assertLess(len((source / file).read_text().splitlines()), 30)

    def hold_deleted_import(self, tool, folder, env):
        """A rule file that was imported once is gone, and so is its import: the depfiles of the last run still name it."""
        def build(runs, why, fails=False):
            (PREFIX / "runs").write_text("")
            time.sleep(0.015)
            done = run(tool, cwd=folder, env=env)
            self.assertEqual(done.returncode != 0, fails, why + "\n" + done.stdout)
            self.assertEqual(len((PREFIX / "runs").read_text()), runs, why + "\n" + done.stdout)
            return done.stdout

        team = folder / "team.amp"
        text = team.read_text()
        for number, phony in enumerate((True, False)):
            extra = folder / f"extra{number}.amp"
            makefile = (folder / "Makefile").read_text()
            if not phony:  # what -MP is there for
                (folder / "Makefile").write_text(makefile.replace(" -MP", ""))
            extra.write_text("amp 1\n")
            team.write_text(text + f'import "{extra.name}"\n')
            build(2, "a new import")
            extra.unlink()
            # The import is still there: ampc itself says what is missing, and make does not stop before.
            if phony and tool == "make":
                self.assertIn("error[AMPC", build(1, "a file that is imported is gone", fails=True))
            team.write_text(text)
            if phony or tool == "ninja":
                build(2, "the file and its import are gone")
                build(0, "nothing to do without them")
            else:
                self.assertIn("No rule to make target", build(0, "make without -MP", fails=True))
            (folder / "Makefile").write_text(makefile)


def main():
    global ARGS, PREFIX, OLDEST
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()))
    ARGS, rest = parser.parse_known_args()
    missing = [t for t in ("cmake", "make", "ninja") if not shutil.which(t)]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return 77
    OLDEST = oldest_cmake(ARGS.cache.resolve())
    with tempfile.TemporaryDirectory() as prefix:
        PREFIX = Path(prefix).resolve() / "prefix"
        install(ARGS.build, PREFIX, shutil.which("cmake"))
        return not unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
