#!/usr/bin/env python3
"""ampc explain: the chain of every node, value and cast is followed to a rule line, or to a fact of schema or model.

    explain.py --ampc PATH --models FOLDER [TEST…]

A link leads to the node that makes the value which decides, and says of it what that node's own explanation says. A rule
that a chain ends in stands where it is said to, word by word. Under AMPC_FULL every model is asked, else some.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx

import modelfacts
from compiler import CASES, DEFAULT_RULES, REPOSITORY

ARGS = None
MODES = [["--level", "O1"], ["--level", "O2", "--dtype", "bf16"], ["--level", "OD"], ["--promote"], ["--gray", "cut"]]
LONGEST = 500  # of a case: the chains of a chain of n nodes have n * n / 2 links
MLP = CASES / "baseline_mlp.onnx"
# Decided by values of the model, not by a rule or a schema: weights that do not fit (R25), exact numbers (R33).
BY_VALUES = {"reads a weight that the low type cannot hold", "reads a small constant that would vanish or be subnormal",
             "computes with an attribute that would vanish", "on the way to an operand that must be exact",
             "shape arithmetic", "positions computed from integers",
             "reads what is computed from a value that the low type cannot hold",
             "on the way from a weight to an operand that a role keeps", "nothing tells the type of an operand"}


def ampc(*args):
    return subprocess.run([ARGS.ampc, *map(str, args)], capture_output=True, text=True, timeout=300, cwd=REPOSITORY)


def explained(rules, model, *more):
    done = ampc("explain", rules, model, "--json", *more)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


class Chains(unittest.TestCase):
    def check_rule(self, rule):
        line = (REPOSITORY / rule["file"]).read_text().splitlines()[rule["line"] - 1]
        self.assertEqual(line.strip(), rule["text"].strip())
        self.assertNotIn(line[rule["column"] - 1:rule["column"]], ("", " ", "#"))

    def check_chain(self, chain, by_name, made_by):
        self.assertTrue(chain)
        for link, following in zip(chain, [*chain[1:], None]):
            self.assertEqual(link["type"], by_name[link["node"]]["type"], link)
            self.assertEqual(link["reason"], by_name[link["node"]]["chain"][0]["reason"], link)
            if "rule" in link:
                self.check_rule(link["rule"])
            if following is None:
                self.assertTrue(any(key in link for key in ("rule", "schema", "model")), link)
                self.assertNotIn("through", link)
                if "model" in link and "rule" not in link and "is a weight" not in link["model"] and "an input" not in link["model"]:
                    self.assertIn(link["reason"], BY_VALUES, link)
            elif "through" in link:
                self.assertIn(link["through"], made_by[following["node"]], link)

    def check_model(self, model, mode):
        done, nodes = explained(DEFAULT_RULES, model, "--node", "**", *mode)
        self.assertEqual(done.returncode, 0, done.stderr)
        decisions = ampc(DEFAULT_RULES, model, "--emit", "decisions", *mode).stdout.splitlines()
        told = [line for line in decisions if line.startswith("node ")]
        self.assertEqual(len(nodes), len(told))
        for one, line in zip(nodes, told):
            self.assertRegex(line, rf" {one['type']}: {re.escape(one['chain'][0]['reason'].split(' ')[0])}")
        by_name = {n["what"]: n for n in nodes}
        made_by = {n["what"]: {r["value"] for r in n.get("results", [])} for n in nodes}
        if len(by_name) < len(nodes):  # nodes of one name: only the ends can be looked at
            by_name = {n["what"]: None for n in nodes}
        for one in nodes:
            self.assertEqual(one["chain"][0]["node"], one["what"])
            for lost in one.get("lost", []):
                self.check_rule(lost["rule"])
                self.assertTrue(lost["why"])
                self.assertNotEqual(lost["rule"], one["chain"][0].get("rule"))
            if all(by_name.values()):
                self.check_chain(one["chain"], by_name, made_by)
        if not all(by_name.values()):
            return len(nodes)
        _, casts = explained(DEFAULT_RULES, model, "--cast", "**", *mode)
        named = [line.split()[1] for line in decisions if re.match(r"cast \S+ ", line)]
        self.assertLessEqual(len(named), len(casts))
        for cast in casts:
            self.assertTrue("edges" in cast or "outputs" in cast or "of" in cast, cast)
            for edge in cast.get("edges", []):
                self.assertIn(edge["node"], by_name)
                if "chain" in edge:
                    self.check_chain(edge["chain"], by_name, made_by)
            if "chain" in cast:
                self.check_chain(cast["chain"], by_name, made_by)
        return len(nodes)

    def test_every_node_of_real_models(self):
        models = sorted(Path(ARGS.models).glob("*.onnx"), key=lambda p: p.stat().st_size)
        models = models if os.environ.get("AMPC_FULL") else models[:4]
        self.assertTrue(models)
        nodes = 0
        for model in models:
            for mode in MODES if os.environ.get("AMPC_FULL") else MODES[:2]:
                with self.subTest(model=model.name, mode=mode):
                    nodes += self.check_model(model, mode)
        print(f"{nodes} nodes of {len(models)} models")

    def test_every_node_of_the_cases(self):
        for model in sorted(CASES.glob("*.onnx")):
            nodes = len(onnx.load(model, load_external_data=False).graph.node)
            if nodes == 0 or nodes > LONGEST:
                continue
            for mode in MODES if os.environ.get("AMPC_FULL") else MODES[:1]:
                with self.subTest(model=model.name, mode=mode):
                    self.check_model(model, mode)

    def test_values(self):
        model = onnx.load(MLP)
        names = {v for g in modelfacts.graphs(model.graph) for n in g.node for v in [*n.input, *n.output] if v}
        done, values = explained(DEFAULT_RULES, MLP, "--value", "**")
        self.assertEqual({v["what"] for v in values}, {f"value '{n}'" for n in names})
        for v in values:
            self.assertTrue("chain" in v or "model" in v)
            self.assertTrue(v.get("readers") or v["what"] == "value 'y'", v)


class Text(unittest.TestCase):
    def test_a_node_that_follows(self):
        done = ampc("explain", "rules/default.amp", "tests/cases/baseline_mlp.onnx", "--node", "add_2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        where = {}
        for word in ("Add", "MatMul"):
            for at, line in enumerate((REPOSITORY / "rules/onnx/operators.amp").read_text().splitlines(), 1):
                if re.match(rf"(follow O1:|allow) {word},", line):
                    where[word] = f"rules/onnx/operators.amp:{at}:{line.index(word) + 1}: {line}"
        self.assertEqual(done.stdout, f"""node 'add_2' (Add): fp16
  follow: low operands, 'a'
    {where['Add']}
  'a' is made by node 'matmul_1' (MatMul): fp16
    allow
      {where['MatMul']}
  schema Add-14: T (A, B, C) in fp32, fp16, bf16, fp64
  operand 1 A 'a' fp16
  operand 2 B 'b' fp16
  result 1 C 'c' fp16
""")

    def test_losers_say_why(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = Path(folder) / "r.amp"
            rules.write_text('amp 1\nimport "levels.amp"\nnode "matmul_1" keep fp32\nallow fp16: MatMul\n'
                             'deny bf16: MatMul\ndeny MatMul where A == B\nscope "elsewhere/**" { deny MatMul }\nlevel O1\n'
                             'dtype fp16\n')
            done = ampc("explain", rules, MLP, "--node", "matmul_1")
        self.assertIn(f"node 'matmul_1' (MatMul): fp32\n  a node rule\n    {rules}:3:6: node \"matmul_1\" keep fp32\n",
                      done.stdout)
        for why in ("its condition does not hold: A == B", "it holds for bf16, not for O1 fp16",
                    "the node is not in its scope", "not by 'allow MatMul': decided before it: a node rule"):
            self.assertIn(why, done.stdout)

    def test_cast_and_value(self):
        done = ampc("explain", DEFAULT_RULES, MLP, "--cast", "x.cast_fp16", "--value", "x")
        self.assertIn("cast 'x.cast_fp16': 'x' from fp32 to fp16\n  for operand 1 A of node 'matmul_1' (MatMul)\n    allow\n",
                      done.stdout)
        self.assertIn("value 'x': fp32\n  an input of the graph\n  cast as 'x.cast_fp16'\n", done.stdout)

    def test_an_unknown_name_is_told_with_the_nearest(self):
        for option, wrong, right in (("--node", "matmul_2", "matmul_1"), ("--cast", "x.cats_fp16", "x.cast_fp16")):
            done = ampc("explain", DEFAULT_RULES, MLP, option, wrong)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"has no {option[2:]} '{wrong}'; did you mean '{right}'?", done.stderr)

    def test_wrong_usage(self):
        for args in ([], ["rules/default.amp", MLP], ["rules/default.amp", "--node", "x"]):
            self.assertEqual(ampc("explain", *args).returncode, 2)

    def test_errors_of_the_inputs(self):
        done = ampc("explain", DEFAULT_RULES, DEFAULT_RULES, "--node", "x")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("error[AMPC1002]", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--models", required=True)
    ARGS, rest = parser.parse_known_args()
    ARGS.ampc = str(Path(ARGS.ampc).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
