#!/usr/bin/env python3
"""ampc --report: what it says of models is so, its three forms say the same, and the page works for everyone.

    report.py --ampc PATH --cache FOLDER [TEST…]

The page is opened in headless Chromium: light and dark, wide and narrow, by keyboard, and held against axe-core's rules. Without
a Chromium those tests are skipped.
"""

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import browser
from compiler import CASES, DEFAULT_RULES, REPOSITORY

ARGS = None
MLP = CASES / "baseline_mlp.onnx"
WIDTHS = (400, 1280)
LARGE = 50_000
SLACK = 1.7  # on what is linear: a tenth of the nodes takes a tenth of the time, but for what any page takes


def ampc(*args):
    return subprocess.run([ARGS.ampc, *map(str, args)], capture_output=True, text=True, timeout=300, cwd=REPOSITORY)


def save(path, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, 1, s) for n, s in inputs],
                              [helper.make_tensor_value_info(n, 1, s) for n, s in outputs], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def tower(path, count):
    """A model of `count` nodes in scopes as exporters write them."""
    nodes, at = [], "x"
    for i in range(count):
        op = ("MatMul", "Softmax", "Relu", "Sigmoid", "Exp")[i % 5]
        name = f"/stage.{i // 5000}/layer.{i // 500 % 10}/block.{i // 50 % 10}/{op}_{i % 50}"
        nodes.append(helper.make_node(op, [at, "w"] if op == "MatMul" else [at], [f"v{i}"], name=name))
        at = f"v{i}"
    return save(path, nodes, [("x", [4, 4])], [(at, [4, 4])], [numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")])


def hard_weights(path):
    rng = np.random.default_rng(5)
    plain = rng.standard_normal((8, 16)).astype(np.float32)
    wide = plain.copy()
    wide[0, :3] = 1e6, -1e5, 1e-9
    tiny = (plain * 1e-7).astype(np.float32)
    weights = {"plain": plain, "wide": wide, "tiny": tiny}
    nodes = [helper.make_node("MatMul", ["x", n], ["y_" + n], name=f"</script><b>{n}") for n in weights]
    return save(path, nodes, [("x", [2, 8])], [("y_" + n, [2, 16]) for n in weights],
                [numpy_helper.from_array(a, n) for n, a in weights.items()]), weights


class Reports(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "out.onnx"

    def report(self, model, *more, form="json", name="report"):
        path = self.folder / f"{name}.{form}"
        done = ampc(DEFAULT_RULES, model, "-o", self.out, "--report", path, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(path.read_text()) if form == "json" else path


class Content(Reports):
    def test_nodes_rules_and_operators_are_those_of_the_decisions(self):
        for case in ("baseline_mlp", "rope_positions", "local_function"):
            with self.subTest(case):
                r = self.report(CASES / f"{case}.onnx")
                told = ampc(DEFAULT_RULES, CASES / f"{case}.onnx", "--emit", "decisions").stdout.splitlines()
                lines = [line for line in told if line.startswith("node ")]
                self.assertEqual([f"node {n['name']} {n['operator']} {n['type']}: {n['reason']}" for n in r["nodes"]],
                                 [line[:len(f"node {n['name']} {n['operator']} {n['type']}: {n['reason']}")] for line, n in zip(lines, r["nodes"], strict=True)])
                by_rule = collections.Counter(m[1] for line in lines if (m := re.search(r" \(([^ ]+:\d+:\d+)\)$", line)))
                self.assertEqual({f"{x['file']}:{x['line']}:{x['column']}": x["nodes"] for x in r["rules"]}, by_rule)
                self.assertEqual({x["operator"]: x["nodes"] for x in r["operators"]}, collections.Counter(n["operator"] for n in r["nodes"]))
                for group in ("low", "fp32", "left"):
                    self.assertEqual(r["summary"]["nodes"][group], sum(n["group"] == group for n in r["nodes"]))
                    self.assertEqual(r["summary"]["nodes"][group], sum(x[group] for x in r["operators"]))
                for rule in r["rules"]:
                    line = (REPOSITORY / rule["file"]).read_text().splitlines()[rule["line"] - 1]
                    self.assertEqual(line.strip()[:200], rule["text"].strip())

    def test_casts_and_sizes_are_those_of_the_output(self):
        r = self.report(MLP)
        casts = {n.output[0] for n in onnx.load(self.out).graph.node if n.op_type == "Cast"}
        self.assertEqual({c["name"] for c in r["casts"]}, casts)
        self.assertEqual(r["summary"]["casts_added"], len(casts))
        self.assertEqual(r["memory"]["model"], {"before": MLP.stat().st_size, "after": self.out.stat().st_size})
        nodes = onnx.load(MLP).graph.node
        maker = {v: i for i, n in enumerate(nodes) for v in n.output}
        self.assertEqual({tuple(e) for e in r["edges"]}, {(maker[v], i) for i, n in enumerate(nodes) for v in n.input if v in maker})

    def test_weights_are_as_numpy_finds_them(self):
        model, weights = hard_weights(self.folder / "m.onnx")
        r = self.report(model)
        self.assertEqual({w["name"] for w in r["weights"]}, set(weights))
        stored = {t.name: t.data_type for t in onnx.load(self.out).graph.initializer}
        for w in r["weights"]:
            a = weights[w["name"]]
            with np.errstate(over="ignore"):
                low = a.astype(np.float16)
            self.assertEqual((np.float32(w["least"]), np.float32(w["most"])), (a.min(), a.max()))
            self.assertEqual((w["overflow"], w["underflow"]), (int(np.isinf(low).sum()), int(((low == 0) & (a != 0)).sum())), w["name"])
            self.assertEqual((w["shape"], w["elements"], w["bytes_before"]), ([8, 16], 128, 512))
            self.assertEqual(w["bytes_after"], 256 if stored[w["name"]] == onnx.TensorProto.FLOAT16 else 512)
        self.assertTrue(any("wide" in x["where"] + x["message"] for x in r["warnings"]), r["warnings"])

    def test_the_forms_say_the_same_for_any_number_of_threads(self):
        model, _ = hard_weights(self.folder / "m.onnx")
        texts = {}
        for jobs in (1, 4):
            for form in ("json", "html", "yml"):
                path = self.folder / f"r.{form}"
                self.assertEqual(ampc(DEFAULT_RULES, model, "-o", self.out, "--report", path, "-j", jobs).returncode, 0)
                self.assertEqual(texts.setdefault(form, path.read_bytes()), path.read_bytes())
        inside = re.search(rb'<script type="application/json" id="data">(.*?)</script>', texts["html"], re.DOTALL)[1]
        self.assertEqual(json.loads(inside), json.loads(texts["json"]))
        self.assertNotRegex(texts["html"].decode().replace("http://www.w3.org/2000/svg", ""), r"https?://|src=|@import|url\(")
        try:
            browser.add_packages(ARGS.cache)
            import yaml
        except (browser.Unavailable, ImportError) as e:
            self.skipTest(str(e))
        self.assertEqual(yaml.safe_load(texts["yml"]), json.loads(texts["json"]))

    def test_yaml_reads_as_the_json_whatever_names_are(self):
        try:
            browser.add_packages(ARGS.cache)
            import yaml
        except (browser.Unavailable, ImportError) as e:
            self.skipTest(str(e))
        names = ["yes", "null", "~", "1.5", "0x10", "1_000", "2026-12-01", "- a", "a: b", "# c", "'d'", '"e"', "\\n", "{f}", "[g]", "&h",
                 "*i", "!j", "%k", "@l", "`m", "| n", "> o", "?", ":", ",", "é漢🙂", "a\tb", " ", "x" * 2000, "\x7f\x01\x85\ufeff\u2028"]
        nodes = [helper.make_node("Relu", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"], name=n) for i, n in enumerate(names)]
        model = save(self.folder / "m.onnx", nodes, [("x", [2])], [(f"v{len(names) - 1}", [2])], [])
        for path in (model, *(CASES / f"{c}.onnx" for c in ("const_above_fp16_max", "if_outer_scope_init", "rope_positions"))):
            with self.subTest(path.stem):
                text = self.report(path, form="yaml").read_text()
                self.assertEqual(yaml.safe_load(text), self.report(path))
                self.assertNotIn("\t", text)
        got = yaml.safe_load(self.report(model, form="yaml").read_text())
        self.assertEqual([n["name"].removeprefix("main/") for n in got["nodes"]], names)

    def test_several_reports_and_a_depfile(self):
        paths = [self.folder / f"a.{form}" for form in ("html", "json", "yaml")]
        done = ampc(DEFAULT_RULES, MLP, "-o", self.out, *(x for p in paths for x in ("--report", p)), "--depfile", self.folder / "d")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({p.name for p in self.folder.iterdir()}, {"a.html", "a.json", "a.yaml", "out.onnx", "d"})
        self.assertNotIn("a.json", (self.folder / "d").read_text())  # a build rule names its outputs itself


class Wrong(Reports):
    def refused(self, code, text, *reports):
        done = ampc(DEFAULT_RULES, MLP, "-o", self.out, *(x for r in reports for x in ("--report", r)))
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertFalse(self.out.exists())

    def test_an_ending_that_says_nothing(self):
        self.refused(2, "name a file that ends in .html, .json or .yaml", self.folder / "r.txt")

    def test_places(self):
        self.refused(1, "r.json", self.folder / "missing" / "r.json")
        (self.folder / "r.json").mkdir()
        self.refused(1, "r.json", self.folder / "r.json")

    def test_files_that_are_in_use(self):
        self.refused(1, "the report is another report, ", self.folder / "r.html", self.folder / "." / "r.html")
        self.out = self.folder / "o.html"
        self.refused(1, "the report is the output ", self.out)

    def test_without_a_model_that_is_written(self):
        done = ampc(DEFAULT_RULES, MLP, "--emit", "decisions", "--report", self.folder / "r.json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))


class Page(Reports):
    @classmethod
    def setUpClass(cls):
        try:
            cls.browser = browser.Browser(ARGS.cache)
        except browser.Unavailable as e:
            raise unittest.SkipTest(str(e))
        cls.addClassCleanup(cls.browser.close)

    def clean(self):
        self.assertEqual(self.browser.errors, [])
        self.assertEqual([r for r in self.browser.requests if not r.startswith(("file:", "data:"))], [])

    def test_light_and_dark_wide_and_narrow(self):
        models = [MLP, CASES / "local_function.onnx", hard_weights(self.folder / "hard.onnx")[0], tower(self.folder / "tower.onnx", 700)]
        for model in models:
            page = self.report(model, form="html")
            for scheme in ("light", "dark"):
                for width in WIDTHS:
                    with self.subTest(model=model.name, scheme=scheme, width=width):
                        self.browser.open(page, width, scheme=scheme)
                        self.assertEqual(self.browser.violations(), [])
                        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
                        self.clean()
        self.browser.open(page, 1280)
        ground = lambda: self.browser.run("getComputedStyle(document.body).backgroundColor")
        light = ground()
        self.browser.open(page, 1280, scheme="dark")
        self.assertNotEqual(light, ground())

    def test_keyboard_alone(self):
        self.browser.open(self.report(tower(self.folder / "tower.onnx", 3000), form="html"), 1280)
        reached = []
        for _ in range(60):
            self.browser.press("Tab")
            reached.append(self.browser.run("(e => e.id || e.getAttribute('href') || e.getAttribute('class') || e.textContent.trim())(document.activeElement)"))
        for wanted in ("#main", "#graph", "#warnings", "find-text", "reset", "picture", "scroll", "rules-filter", "weights-filter", "nodes-filter"):
            self.assertIn(wanted, reached)
        self.assertEqual(sum(x.startswith("box") for x in reached), 1)  # one stop; arrows go on from there
        boxes, active = "document.querySelectorAll('.box').length", "document.activeElement.getAttribute('aria-label')"
        self.browser.run("document.getElementById('reset').click(); document.querySelector('.box').focus()")
        before, label = self.browser.run(boxes), self.browser.run(active)
        self.assertIn("group of ", label)
        self.browser.press("Enter")
        self.assertGreater(self.browser.run(boxes), before)
        first = self.browser.run(active)
        self.browser.press("ArrowDown")
        self.assertNotIn(self.browser.run(active), (first, None))
        self.browser.press("Backspace")
        self.assertEqual((self.browser.run(boxes), self.browser.run(active)), (before, label))
        self.clean()

    def test_what_it_shows(self):
        self.browser.open(self.report(MLP, form="html"), 1280)
        labels = self.browser.run("[...document.querySelectorAll('.box')].map(b => b.getAttribute('aria-label'))")
        self.assertTrue(any("main/matmul_1: fp16" in x for x in labels), labels)
        self.assertEqual(self.browser.run("document.querySelectorAll('.box.low').length + document.querySelectorAll('.box.fp32').length > 0"), True)
        self.assertTrue(self.browser.run("document.querySelectorAll('.mark, text.casts').length"))
        self.browser.run("document.getElementById('find-text').value = 'matmul_1'; document.querySelector('#find button').click()")
        details = self.browser.run("document.getElementById('details').textContent")
        self.assertIn("rules/onnx/operators.amp:", details)
        column = "[...document.querySelectorAll('#operators tbody tr')].map(r => Number(r.children[1].textContent))"
        self.assertEqual(self.browser.run(column), sorted(self.browser.run(column), reverse=True))
        self.browser.run("document.querySelectorAll('#operators th button')[1].click()")
        self.assertEqual(self.browser.run(column), sorted(self.browser.run(column)))
        self.assertEqual(self.browser.run("document.querySelectorAll('#operators th')[1].getAttribute('aria-sort')"), "ascending")
        self.clean()

    def test_names_are_text(self):
        self.browser.open(self.report(hard_weights(self.folder / "m.onnx")[0], form="html"), 1280)
        self.assertIn("</script><b>plain", self.browser.run("document.getElementById('nodes').textContent"))
        self.assertEqual(self.browser.run("document.querySelectorAll('td b').length"), 0)
        self.clean()

    def test_a_large_model(self):
        times = {}
        for count in (LARGE // 10, LARGE):
            model = tower(self.folder / f"{count}.onnx", count)
            begin = time.perf_counter()
            page = self.report(model, form="html", name=str(count))
            written = time.perf_counter() - begin
            times[count] = written, min(self.browser.open(page) for _ in range(2))
            self.assertLessEqual(self.browser.run("document.querySelectorAll('.box').length"), 100)
            self.clean()
            print(f"{count} nodes: compiled and written in {written:.2f} s, {page.stat().st_size / 1e6:.1f} MB, open in {times[count][1]:.2f} s")
        self.assertEqual(self.browser.run("Number(document.querySelector('.card.low b').textContent.replace(/,/g, '')) > 9999"), True)
        for at in (0, 1):
            self.assertLess(times[LARGE][at], 10 * SLACK * times[LARGE // 10][at])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--cache", required=True)
    ARGS, rest = parser.parse_known_args()
    ARGS.ampc = str(Path(ARGS.ampc).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
