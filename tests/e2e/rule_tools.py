#!/usr/bin/env python3
"""ampc check, ampc diff and ampc test.

    rule_tools.py --ampc PATH [TEST…]
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from compiler import CASES, DEFAULT_RULES, REPOSITORY

ARGS = None
MLP = CASES / "baseline_mlp.onnx"  # MatMul, Add, Relu
POSITIONS = CASES / "rope_positions.onnx"  # Cast, Unsqueeze, Mul, Sin


def ampc(*args):
    return subprocess.run([ARGS.ampc, *map(str, args)], capture_output=True, text=True, timeout=120)


class Tools(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def rules(self, text, name="team.amp"):
        path = self.folder / name
        path.write_text(f'amp 1\nimport "{DEFAULT_RULES}"\n{text}')
        return path


class Doc(Tools):
    def test_every_page_and_link_is_there(self):
        files = sorted((REPOSITORY / "rules").rglob("*.amp"))
        for pages in ["a", "b"]:
            done = ampc("doc", *files, "-o", self.folder / pages)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        for file in files:
            name = file.relative_to(REPOSITORY / "rules").with_name(file.name + ".md")
            page = self.folder / "a" / name
            text = page.read_text()
            self.assertEqual(text, (self.folder / "b" / name).read_text())
            links = re.findall(r"\]\(<([^>#]*)(?:#L(\d+))?>\)", text)
            self.assertTrue(links, page)
            for link, line in links:
                target = page.parent / link
                self.assertTrue(target.exists(), f"{page}: {link}")
                if line:
                    self.assertTrue(target.read_text().splitlines()[int(line) - 1].strip(), f"{page}: {link}#L{line}")
        page = (self.folder / "a" / "default.amp.md").read_text()
        self.assertTrue(page.startswith("# default.amp\n\nWhat `ampc default.amp model.onnx` does."), page[:200])
        self.assertIn("[onnx/operators.amp](<onnx/operators.amp.md>)", page)

    def test_one_page_is_printed(self):
        rules = self.rules("/// Too wide for fp16\ndeny Exp\n")
        done = ampc("doc", rules)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"Too wide for fp16\n\n```\ndeny Exp\n```\n\n[{rules}:4](<{rules}#L4>)\n", done.stdout)

    def test_a_wrong_file_leaves_no_page(self):
        done = ampc("doc", self.rules("deny Exp\n", "a.amp"), self.rules("deny\n", "b.amp"), "-o", self.folder / "pages")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("AMPC0010", done.stderr)
        self.assertFalse((self.folder / "pages").exists())

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "pages").write_text("")
        done = ampc("doc", self.rules("deny Exp\n"), "-o", self.folder / "pages")
        self.assertEqual(done.returncode, 1)
        self.assertIn("AMPC2001", done.stderr)


class Check(Tools):
    def test_the_rules_that_ship_are_good(self):
        files = sorted((REPOSITORY / "rules").rglob("*.amp"))
        done = ampc("check", "-Werror", *files)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_file_is_told(self):
        done = ampc("check", self.rules("allow Matmull\n", "a.amp"), self.rules("deny Softmx\n", "b.amp"), self.rules("", "c.amp"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("did you mean 'MatMul'?", done.stderr)
        self.assertIn("did you mean 'Softmax'?", done.stderr)

    def test_what_has_no_use_in_any_model(self):
        rules = self.rules('override deny Relu\n'                              # in the first model
                           'override deny Mish\n'                              # in none
                           'deny Mul where B is weight and rank(B) == 7\n'     # in the second, and never so
                           'deny Add where B is weight\n'                      # in the first, and so
                           'node "matmul_1" keep fp32\n'                       # in the first
                           'node "matmul_9" keep fp32\n'
                           'scope "nowhere/**" { deny MatMul }\n')
        done = ampc("check", rules, "--model", MLP, "--model", POSITIONS)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        told = re.findall(r":(\d+):\d+: warning\[AMPC1025\]: (.*)", done.stderr)
        self.assertEqual(told, [("4", "no node of any of the 2 models is a 'Mish'"),
                                ("5", "this condition holds at no 'Mul' of any of the 2 models"),
                                ("8", "this node rule matches nothing in the model"),
                                ("9", "this matches no node of the model")])
        self.assertIn("did you mean 'matmul_1'?", ampc("check", rules, "--model", MLP).stderr)
        self.assertEqual(ampc("check", rules, "--model", MLP, "-Werror").returncode, 1)
        self.assertEqual(ampc("check", rules, "--model", MLP, "-Werror", "-Wno-unused-rule").returncode, 0)

    def test_a_rule_for_another_level_is_of_use(self):
        rules = self.rules("deny O2: MatMul where A is weight\n")
        self.assertEqual(ampc("check", rules, "--model", MLP).stderr, "")
        self.assertIn("holds at no 'MatMul'", ampc("check", rules, "--model", MLP, "--level", "O2").stderr)

    def test_a_guard_that_holds_everything(self):
        rules = self.rules('guard "**"\n')
        told = ampc("check", rules, "--model", MLP).stderr
        self.assertIn("team.amp:3:7: warning[AMPC1025]: this guard holds every node of the model: it decides nothing", told)
        rules = self.rules('guard "matmul_1"\nguard "nothing/**"\n')
        told = ampc("check", rules, "--model", MLP).stderr
        self.assertNotIn("holds every node", told)
        self.assertIn("team.amp:4:7: warning[AMPC1025]: this guard rule matches nothing in the model", told)

    def test_a_model_that_is_none(self):
        done = ampc("check", DEFAULT_RULES, "--model", DEFAULT_RULES)
        self.assertEqual(done.returncode, 1)
        self.assertIn("error[AMPC1002]", done.stderr)


class Fix(Tools):
    """ampc check --fix"""

    WRONG = "deny Softmx;\r\nallow  Mish # why\r\nallow Gelu, Gelu\r\ndeny Foo\r\n"
    MENDED = "override deny Softmax\r\nallow  Mish # why\r\nallow Gelu\r\ndeny Foo\r\n"

    def setUp(self):
        super().setUp()
        self.base = self.folder / "base.amp"
        self.base.write_text("amp 1\nallow Softmax\ndney Exp\n")

    def wrong(self, text=WRONG, name="team.amp", head="amp 1\r\n"):
        path = self.folder / name
        path.write_bytes((head + 'import "base.amp"\r\n' + text).encode())
        return path

    def test_what_is_sure_is_written_and_the_rest_is_told(self):
        path = self.wrong()
        before = self.base.read_bytes()
        shown = ampc("check", path).stderr
        self.assertIn("of these: `ampc check --fix` mends\n", shown)
        done = ampc("check", "--fix", path)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(path.read_bytes().decode(), 'amp 1\r\nimport "base.amp"\r\n' + self.MENDED)
        self.assertEqual(done.stdout, f"{path}: 4 mended\n")
        self.assertIn("team.amp:6:6: error[AMPC0101]: no operator is called 'Foo'", done.stderr)
        self.assertNotIn("Softmx", done.stderr)
        self.assertIn("base.amp:3:1: error[AMPC0011]", done.stderr)  # imported: told, and left as it is
        self.assertEqual(self.base.read_bytes(), before)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["base.amp", "team.amp"])
        again = ampc("check", "--fix", path)
        self.assertEqual(again.stdout, "")

    def test_files_that_are_named_are_all_mended(self):
        path = self.wrong("deny Foo\n")
        done = ampc("check", "--fix", self.base, path)
        self.assertEqual(self.base.read_text(), "amp 1\nallow Softmax\ndeny Exp\n")
        self.assertEqual(done.stdout, f"{self.base}: 1 mended\n")
        self.assertNotIn("base.amp", done.stderr)

    def test_links_modes_and_byte_order_marks_stay(self):
        path = self.wrong(head="\ufeffamp 1\r\n")
        path.chmod(0o640)
        link = self.folder / "link.amp"
        link.symlink_to("team.amp")
        ampc("check", "--fix", link)
        self.assertTrue(link.is_symlink())
        self.assertEqual(path.read_bytes().decode(), '\ufeffamp 1\r\nimport "base.amp"\r\n' + self.MENDED)
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)

    def test_nothing_to_mend_leaves_the_file_alone(self):
        path = self.rules("deny Foo\n")
        before = path.stat()
        self.assertEqual(ampc("check", "--fix", path).returncode, 1)
        self.assertEqual((path.stat().st_mtime_ns, path.stat().st_ino), (before.st_mtime_ns, before.st_ino))

    def test_warnings_that_are_off_are_not_mended(self):
        path = self.wrong("allow Gelu, Gelu\r\n")
        text = path.read_bytes()
        ampc("check", "--fix", "-Wno-duplicate", path)
        self.assertEqual(path.read_bytes(), text)

    def test_what_others_read_of_it(self):
        path = self.wrong()
        lines = [json.loads(text) for text in ampc("check", "--diagnostics", "json", path).stderr.splitlines()]
        edits = [(e["line"], e["column"], e["end_column"], e["text"]) for d in lines for e in d.get("edits", []) if d["file"].endswith("team.amp")]
        self.assertIn((3, 6, 12, "Softmax"), edits)
        self.assertIn((3, 12, 13, ""), edits)
        log = json.loads(ampc("check", "--diagnostics", "sarif", path).stderr)
        fixes = [f for r in log["runs"][0]["results"] for f in r.get("fixes", [])]
        self.assertIn("Softmax", [r["insertedContent"]["text"] for f in fixes for c in f["artifactChanges"] for r in c["replacements"]])
        self.assertTrue(all(f["description"]["text"] for f in fixes))


class Diff(Tools):
    def test_nothing_differs(self):
        done = ampc("diff", DEFAULT_RULES, self.rules(""), MLP)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^0 nodes, 0 casts and 0 weights differ; (\d+) -> \1 bytes \(\+0\)\n$")

    def test_what_differs_and_by_which_rule(self):
        rules = self.rules("override deny MatMul\n")
        done = ampc("diff", DEFAULT_RULES, rules, MLP)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"node main/matmul_1 MatMul\n  - fp16, allow \(.*operators\.amp:\d+:7\)\n"
                         rf"  \+ fp32, deny \({rules}:3:15\)\n")
        self.assertIn("cast x.cast_fp16\n  - fp32 -> fp16\n  + none\n", done.stdout)
        self.assertIn("weight w\n  - fp16\n  + as it is\n", done.stdout)
        sizes = []
        for at, file in enumerate((DEFAULT_RULES, rules)):
            out = self.folder / f"{at}.onnx"
            self.assertEqual(ampc(file, MLP, "-o", out).returncode, 0)
            sizes.append(out.stat().st_size)
        self.assertTrue(done.stdout.endswith(f"; {sizes[0]} -> {sizes[1]} bytes ({sizes[1] - sizes[0]:+})\n"), (done.stdout, sizes))
        nodes = len(re.findall("^node ", done.stdout, re.MULTILINE))
        self.assertIn(f"{nodes} nodes, ", done.stdout)

    def test_json_says_the_same(self):
        rules = self.rules("override deny MatMul\n")
        text = ampc("diff", DEFAULT_RULES, rules, MLP).stdout
        done = ampc("diff", DEFAULT_RULES, rules, MLP, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        d = json.loads(done.stdout)
        for n in d["nodes"]:
            sides = [f"{s['type']}, {s['reason']}" + (f" ({s['rule']})" if "rule" in s else "") for s in (n["before"], n["after"])]
            self.assertIn(f"node {n['node']} {n['operator']}\n  - {sides[0]}\n  + {sides[1]}\n", text)
        for what in ("cast", "weight"):
            for one in d[what + "s"]:
                self.assertIn(f"{what} {one[what]}\n  - {one['before']}\n  + {one['after']}\n", text)
        self.assertIn(f"{len(d['nodes'])} nodes, {len(d['casts'])} casts and {len(d['weights'])} weights differ; "
                      f"{d['bytes']['before']} -> {d['bytes']['after']} bytes", text)
        self.assertTrue(d["nodes"] and d["casts"] and d["weights"])

    def test_options_hold_for_both(self):
        done = ampc("diff", DEFAULT_RULES, self.rules("override deny MatMul\n"), MLP, "--level", "O0")
        self.assertIn("0 nodes, 0 casts and 0 weights differ", done.stdout)

    def test_a_wrong_side_is_told(self):
        done = ampc("diff", DEFAULT_RULES, self.rules("deny Exq\n"), MLP)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("team.amp:3:6: error[AMPC0101]", done.stderr)


class Expect(Tools):
    def expect(self, text):
        path = self.folder / "team.expect"
        path.write_text(text)
        return path

    def test_what_holds(self):
        shutil.copy(MLP, self.folder / "mlp.onnx")
        file = self.expect("# what the encoder needs\nmodel mlp.onnx\n\nMatMul low   # products\nmatmul_* * low\n* low\n"
                           "casts <= 2\nlow == 3\nfp32 == 0\nleft >= 0\n")
        done = ampc("test", DEFAULT_RULES, "--expect", file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"{self.folder / 'mlp.onnx'}: 7 of 7 expectations hold\n")

    def test_what_does_not_says_which_rule_decided(self):
        file = self.expect("MatMul fp32\nSoftmax fp32\ncasts == 1\nRelu low\n")
        done = ampc("test", DEFAULT_RULES, "--expect", file, "--model", MLP)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, f"{MLP}: 1 of 4 expectations hold\n")
        told = re.findall(rf"^{file}:(\d+):1: error\[AMPC2011\]: (.*)$", done.stderr, re.MULTILINE)
        self.assertEqual(told, [("1", "1 of 1 node is not fp32"), ("2", "no node of the model is a 'Softmax'"),
                                ("3", "2 casts are added, where == 1 is expected")])
        self.assertRegex(done.stderr, r"operators\.amp:\d+:7: node 'matmul_1' \(MatMul\) is fp16: allow\n")

    def test_options_hold(self):
        file = self.expect("* left\ncasts == 0\n")
        self.assertEqual(ampc("test", DEFAULT_RULES, "--expect", file, "--model", MLP, "--level", "O0").returncode, 0)
        self.assertEqual(ampc("test", DEFAULT_RULES, "--expect", file, "--model", MLP).returncode, 1)

    def test_lines_that_say_nothing(self):
        for line in ("MatMul", "MatMul fp8", "casts < 3", "casts <= many", "a b MatMul low", "/a.{0,1 MatMul low"):
            done = ampc("test", DEFAULT_RULES, "--expect", self.expect(f"Relu low\n{line}\n"), "--model", MLP)
            self.assertEqual((done.returncode, done.stdout), (1, ""), line)
            self.assertRegex(done.stderr, r"team\.expect:2:\d+: error\[AMPC2012\]")
            self.assertIn("help: a line is `model PATH`", done.stderr)

    def test_wrong_usage(self):
        self.assertEqual(ampc("test", DEFAULT_RULES).returncode, 2)
        self.assertEqual(ampc("test", DEFAULT_RULES, "--expect", self.folder / "none").returncode, 2)
        done = ampc("test", DEFAULT_RULES, "--expect", self.expect("Relu low\n"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--model", done.stderr)


class TeamRules(unittest.TestCase):
    """examples/team-rules does what its README says."""

    def test_layout_check_and_expectations(self):
        files = sorted((REPOSITORY / "examples" / "team-rules").glob("*.amp"))
        self.assertEqual([f.stem for f in files], ["company", "speech", "vision"])
        self.assertEqual(ampc("fmt", "--check", *files).returncode, 0)
        done = ampc("check", "-Werror", *files)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for file in files:
            done = ampc("test", file, "--expect", file.with_suffix(".expect"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r": (\d+) of \1 expectations hold\n$")

    def test_a_team_differs_from_the_company(self):
        folder = REPOSITORY / "examples" / "team-rules"
        done = ampc("test", folder / "company.amp", "--expect", folder / "vision.expect")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 of 1 node is not fp32", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    ARGS, rest = parser.parse_known_args()
    ARGS.ampc = str(Path(ARGS.ampc).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
