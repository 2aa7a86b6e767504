#!/usr/bin/env python3
"""Whether Bazel runs ampc when it has to, and only then; that shards make the same bytes; that wrong attributes are told.

    bazel.py --build DIR [TEST…]

DIR is a build folder of ampc's own. Bazel is the one on the path, without network: Debian's bazel-bootstrap, which is
installed where that can be done.
"""

import argparse
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import bazel_tool
from build_tool import run
from compiler import CASES, REPOSITORY

PREFIX = None
ODD = "(1) #$ "
LOAD = 'load("@rules_ampc//:amp.bzl", "amp_check_test", "amp_model", "amp_model_sharded", "amp_rules")\n'
FP32 = 'amp 1\nnode "*" keep fp32\n'


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def workspace(self, files, name="project", prefix=None):
        """A workspace of these files by their paths; bytes, or text. One of each name at a time, since Bazel's start takes long."""
        made = bazel_tool.Workspace(PREFIX.parent / name, PREFIX.parent / "root", prefix or PREFIX)
        made.add(files)
        return made

    def built(self, workspace, *targets, **more):
        done, log = workspace.bazel("build", *targets, **more)
        self.assertEqual(done.returncode, 0, done.stdout)
        return log

    def refused(self, workspace, *texts):
        done, _ = workspace.bazel("build", "//...")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for text in texts:
            self.assertIn(text, done.stdout)

    def by_hand(self, rules, model, *options):
        out = self.folder / "by hand.onnx"
        done = run(PREFIX / "bin" / "ampc", rules, model, "-o", out, *options)
        self.assertEqual(done.returncode, 0, done.stdout)
        return out.read_bytes()


class Truth(Case):
    def expect(self, runs, why, fails=False):
        done, log = self.project.bazel("build", "//...")
        self.assertEqual(done.returncode != 0, fails, f"{why}\n{done.stdout}")
        self.assertEqual([s["mnemonic"] for s in log], ["AmpCompile"] * runs, f"{why}\n{done.stdout}")
        return done.stdout

    def hold(self, odd, beyond_ascii=False):
        """`odd` stands in each name. Beyond ASCII Bazel 4.2.3 does not find what a list of unused inputs names: such a file counts
        as used, and no change is missed."""
        data = CASES / "external_data.data"
        self.project = self.workspace({
            "BUILD.bazel": f'{LOAD}amp_rules(name = "team{odd}", srcs = glob(["**/*.amp"]), root = "{odd}team.amp")\n'
                           f'amp_model(name = "model{odd}", model = "{odd}model.onnx", rules = "team{odd}",'
                           f' external_data = ["external_data.data"])\n',
            f"{odd}model.onnx": (CASES / "external_data.onnx").read_bytes(),
            "external_data.data": data.read_bytes(),
            f"{odd}team.amp": f'amp 1\nimport "default.amp"\nimport "{odd}parts/{odd}reached.amp"\n',
            f"{odd}parts/{odd}reached.amp": "amp 1\n",
            f"{odd}parts/{odd}unreached.amp": "amp 1\n",
        })
        folder = self.project.folder
        reached, unreached = folder / f"{odd}parts" / f"{odd}reached.amp", folder / f"{odd}parts" / f"{odd}unreached.amp"
        output = folder / "bazel-bin" / f"{odd}model.fp16.onnx"
        self.expect(1, "first build")
        first = output.read_bytes()
        self.assertEqual(first, self.by_hand(folder / f"{odd}team.amp", folder / f"{odd}model.onnx"))
        self.expect(0, "nothing to do")

        (folder / "unrelated.txt").write_text("x")
        self.expect(0, "a file that has nothing to do with it")
        unreached.write_text("amp 1\ndeny MatMul\n")
        self.expect(int(beyond_ascii), "a rule file that no import reaches")
        reached.touch()
        self.expect(0, "a rule file that only looks newer")

        reached.write_text(FP32)
        self.expect(1, "a rule file that an import reaches")
        self.assertNotEqual(output.read_bytes(), first)
        self.expect(0, "nothing to do after new rules")
        reached.write_text("amp 1\n")
        self.expect(1, "the rules as they were")
        self.assertEqual(output.read_bytes(), first)

        changed = bytearray(data.read_bytes())
        changed[3] ^= 0x80  # the sign of the first weight
        (folder / "external_data.data").write_bytes(changed)
        self.expect(1, "external data")
        self.assertNotEqual(output.read_bytes(), first)
        self.expect(0, "nothing to do after new data")

        kept = output.read_bytes()
        output.chmod(0o644)
        output.unlink()
        self.expect(1, "the output is gone")
        self.assertEqual(output.read_bytes(), kept)

        reached.write_text("amp 1\ndeny MatMull\n")
        for why in ("rules that are wrong", "a run that failed is tried again"):
            told = self.expect(1, why, fails=True)
            self.assertIn("did you mean 'MatMul'?", told, why)
        reached.write_text("amp 1\n")
        self.expect(1, "rules that are mended")
        self.assertEqual(output.read_bytes(), kept)

        team = folder / f"{odd}team.amp"
        rules = team.read_text()
        team.write_text('amp 1\nimport "default.amp"\n')
        self.expect(1, "an import is gone")
        reached.write_text("amp 1\n# x\n")
        self.expect(int(beyond_ascii), "a file that was imported once")
        team.write_text(rules)
        self.expect(1, "the import is there again")
        unreached.unlink()
        self.expect(1, "another set of files")
        self.expect(0, "nothing to do at the end")

    def test_plain_names(self):
        self.hold("")

    def test_odd_names(self):
        self.hold(ODD)

    def test_names_beyond_ascii(self):
        self.hold("ü", beyond_ascii=True)


class Models(Case):
    def test_shards_make_the_same_bytes(self):
        for case in ("external_data", "shared_init_blocked_and_free"):
            with self.subTest(case=case):
                files = {f"{case}{end}": (CASES / f"{case}{end}").read_bytes() for end in (".onnx", ".data") if (CASES / f"{case}{end}").exists()}
                both = f'model = "{case}.onnx", external_data = glob(["*.data"]), dtypes = ["fp16", "bf16"], data_file = %s, level = "O2"'
                rules = ""
                for at, data_file in enumerate((False, True)):
                    rules += f'amp_model(name = "whole{at}", out = "{at}/{{dtype}}.onnx", {both % data_file})\n'
                    rules += f'amp_model_sharded(name = "parts{at}", shards = 3, out = "{at}/parts/{{dtype}}.onnx", {both % data_file})\n'
                project = self.workspace({"BUILD.bazel": LOAD + rules, **files})
                log = self.built(project, "//...")
                for mnemonic, times in (("AmpCompile", 4), ("AmpPlan", 4), ("AmpCast", 12), ("AmpLink", 4)):
                    self.assertEqual(sum(s["mnemonic"] == mnemonic for s in log), times, mnemonic)
                self.assertTrue(all("sandbox" in s["runner"] for s in log), {s["runner"] for s in log})
                out = project.folder / "bazel-bin"
                for at in (0, 1):
                    for dtype in ("fp16", "bf16"):
                        whole = (out / f"{at}/{dtype}.onnx").read_bytes()
                        parts = (out / f"{at}/parts/{dtype}.onnx").read_bytes()
                        self.assertEqual(whole, parts)
                        if at:
                            weights = [(out / f"1/{folder}{dtype}.onnx.data").read_bytes() for folder in ("", "parts/")]
                            self.assertEqual(*weights)
                        else:
                            expected = self.by_hand(REPOSITORY / "rules/default.amp", project.folder / f"{case}.onnx", "--dtype", dtype, "--level", "O2")
                            self.assertEqual(whole, expected)

    def test_two_output_bases_make_the_same_bytes(self):
        files = {"BUILD.bazel": f'{LOAD}amp_model(name = "m", model = "m.onnx", dtypes = ["fp16", "bf16"], reports = ["html", "json"])\n',
                 "m.onnx": (CASES / "baseline_mlp.onnx").read_bytes()}
        seen = []
        for name in ("project", "another"):
            project = self.workspace(files, name)
            self.built(project, "//:m", more=["--output_groups=+reports"])
            seen.append({f.name: f.read_bytes() for f in (project.folder / "bazel-bin").glob("m.*") if f.suffix in (".onnx", ".html", ".json")})
        self.assertEqual(len(seen[0]), 6)
        self.assertEqual(*seen)

    def test_rules_of_other_places(self):
        """Made by the build, from another package, and from another repository."""
        project = self.workspace({
            "BUILD.bazel": LOAD + """
genrule(name = "made", outs = ["made.amp"], cmd = "printf 'amp 1\\ndeny com.acme::Route\\n' > $@")
amp_rules(name = "team", srcs = ["team.amp", "made.amp"], root = "team.amp", deps = ["//deep/down:base", "@company//:all"])
amp_model(name = "m", model = "m.onnx", rules = ":team", out = "{name}/{model}.onnx")
""",
            "team.amp": 'amp 1\nimport "made.amp"\nimport "base.amp"\nimport "house.amp"\noverride deny Relu\n',
            "deep/down/BUILD.bazel": LOAD + 'amp_rules(name = "base", srcs = ["rules/base.amp"], imports = ["rules"], visibility = ["//visibility:public"])\n',
            "deep/down/rules/base.amp": 'amp 1\nimport "default.amp"\n',
            "m.onnx": (CASES / "baseline_mlp.onnx").read_bytes(),
        })
        other = self.folder / "company"
        bazel_tool.write(other, {"WORKSPACE": "", "BUILD.bazel": LOAD + 'amp_rules(name = "all", srcs = ["house.amp"], visibility = ["//visibility:public"])\n',
                                 "house.amp": "amp 1\ndeny com.acme::Mix\n"})
        with open(project.folder / "WORKSPACE", "a", encoding="utf-8") as file:
            file.write(f'local_repository(name = "company", path = "{other}")\n')
        self.assertEqual([s["mnemonic"] for s in self.built(project, "//:m") if s["mnemonic"].startswith("Amp")], ["AmpCompile"])
        (other / "house.amp").write_text("amp 1\ndeny com.acme::Mix, com.acme::Sort\n")
        self.assertEqual(len(self.built(project, "//:m")), 1)
        self.assertEqual(len(self.built(project, "//:m")), 0)

    def test_another_ampc_compiles_again(self):
        prefix = self.folder / "prefix"
        shutil.copytree(PREFIX, prefix)
        project = self.workspace({"BUILD.bazel": f'{LOAD}amp_model(name = "m", model = "m.onnx")\n',
                                  "m.onnx": (CASES / "baseline_mlp.onnx").read_bytes()}, prefix=prefix)
        self.assertEqual(len(self.built(project, "//...")), 1)
        with open(prefix / "share/ampc/rules/levels.amp", "a", encoding="utf-8") as file:
            file.write("# changed\n")
        self.assertEqual(len(self.built(project, "//...")), 1, "the rules that ship")
        self.assertEqual(len(self.built(project, "//...")), 0)
        program = prefix / "bin" / "ampc"
        program.write_bytes(program.read_bytes() + b"\0")
        self.assertEqual(len(self.built(project, "//...")), 1, "the program")

    def test_wrong_attributes_are_told(self):
        model = 'amp_model(name = "m", model = "m.onnx", %s)\n'
        cases = [(model % 'dtypes = ["fp8"]', "'fp8' is none of bf16, fp16"),
                 (model % 'dtypes = ["fp16", "bf16"], out = "m.low.onnx"', "put {dtype} into the name"),
                 (model % 'options = ["--dtype=bf16"]', "--dtype is the attribute `dtypes` here"),
                 (model % 'options = ["--emit", "onnx"]', "--emit is the build rules' own affair"),
                 (model % 'reports = ["pdf"]', "'pdf' is none of html, json, yaml"),
                 (model % 'level = "O7"', "O7"),
                 ('amp_model_sharded(name = "m", model = "m.onnx", shards = 0)\n', "0 is not from 1 to 65536"),
                 ('amp_rules(name = "r", srcs = ["a.amp", "b.amp"])\n', "it is r.amp unless another is named"),
                 ('amp_rules(name = "r", srcs = ["a.amp"], root = "b.amp")\n', "'//:b.amp' is not among srcs"),
                 ('amp_check_test(name = "t", rules = "a.amp", expect = "e.expect", models = ["m.onnx"])\n', "put them into data")]
        project = self.workspace({"m.onnx": (CASES / "baseline_mlp.onnx").read_bytes(), "a.amp": "amp 1\n", "b.amp": "amp 1\n", "e.expect": "MatMul low\n"})
        for text, told in cases:
            with self.subTest(told=told):
                project.add({"BUILD.bazel": LOAD + text})
                self.refused(project, told)

    def test_rules_that_are_wrong_fail_their_tests(self):
        project = self.workspace({
            "BUILD.bazel": LOAD + 'amp_rules(name = "r", srcs = ["r.amp"])\n'
                                  'amp_check_test(name = "check", rules = "r", options = ["-Werror"], models = ["m.onnx"])\n'
                                  'amp_check_test(name = "expect", rules = "r", expect = "e.expect", data = ["m.onnx"])\n',
            "m.onnx": (CASES / "baseline_mlp.onnx").read_bytes(),
            "r.amp": 'amp 1\nimport "default.amp"\nnode "nowhere" keep fp32\n', "e.expect": "model m.onnx\nMatMul fp32\n"})
        done, _ = project.bazel("test", "//...", more=["--test_output=errors"])
        self.assertEqual(done.returncode, 3, done.stdout)
        for text in ("r.amp:3:6: error", "nowhere", "e.expect:2"):
            self.assertIn(text, done.stdout)
        project.add({"r.amp": 'amp 1\nimport "default.amp"\noverride deny MatMul\n'})
        done, _ = project.bazel("test", "//...", more=["--test_output=errors"])
        self.assertEqual(done.returncode, 0, done.stdout)


class Example(Case):
    def test_it_is_what_a_newcomer_copies(self):
        source = REPOSITORY / "examples" / "bazel-project"
        self.assertLess(len((source / "BUILD.bazel").read_text().splitlines()), 30)
        project = self.workspace({str(path.relative_to(source)): path.read_bytes() for path in source.rglob("*") if path.is_file()})
        folder = project.folder
        for name in ("WORKSPACE", "MODULE.bazel"):
            text = (folder / name).read_text()
            self.assertIn('"/usr', text)
            (folder / name).write_text(text.replace('"/usr', f'"{PREFIX}'))
        log = self.built(project, "//...")
        self.assertEqual(sum(s["mnemonic"].startswith("Amp") for s in log), 2 + 5)
        done, _ = project.bazel("test", "//...")
        self.assertEqual(done.returncode, 0, done.stdout)
        out = folder / "bazel-bin"
        whole = (out / "digits.fp16.onnx").read_bytes()
        self.assertEqual(whole, (out / "sharded/digits.fp16.onnx").read_bytes())
        self.assertEqual(whole, self.by_hand(folder / "team.amp", folder / "digits.onnx"))
        self.assertEqual(self.built(project, "//..."), [])

    def test_modules_are_of_the_same_version(self):
        version = run(PREFIX / "bin" / "ampc", "--version").stdout.split()[1]
        for path in (PREFIX / "share/ampc/bazel/MODULE.bazel", REPOSITORY / "examples/bazel-project/MODULE.bazel"):
            self.assertIn(f'version = "{version}"', path.read_text(), path)


def main():
    global PREFIX
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    args, rest = parser.parse_known_args()
    missing = bazel_tool.missing()
    if missing:
        print(f"skipped: {missing}")
        return 77
    with tempfile.TemporaryDirectory() as folder, bazel_tool.stopped(Path(folder).resolve()):
        PREFIX = Path(folder).resolve() / "prefix"
        done = run(shutil.which("cmake"), "--install", args.build, "--prefix", PREFIX, "--component", "ampc")
        if done.returncode != 0:
            sys.exit(done.stdout)
        return not unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
