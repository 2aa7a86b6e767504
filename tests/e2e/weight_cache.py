#!/usr/bin/env python3
"""--cache: weights that an earlier run has cast. Whatever state the folder is in, the output and all that is said is what
it is without one.

    weight_cache.py --ampc PATH [-v] [TEST…]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiler import DEFAULT_RULES, Compiler

WIDTH = 640  # 1.6 MB a weight: large enough to take part
NOBODY = 65534


def weights(count, seed=0):
    return [(np.random.default_rng(seed + i).standard_normal((WIDTH, WIDTH)) / WIDTH).astype(np.float32)
            for i in range(count)]


def chain(values):
    nodes, value = [], "x"
    for i in range(len(values)):
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"], name=f"product{i}"))
        value = f"m{i}"
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTH])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, WIDTH])],
                              [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(values)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class WeightCache(unittest.TestCase):
    compiler: Compiler

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.cache = self.folder / "cache"
        self.model = self.folder / "model.onnx"
        onnx.save(chain(weights(4)), self.model)

    def run_in(self, name, *more, rules=None, cwd=None):
        """Output files and what was said, with folders' and times' names left out."""
        out = self.folder / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        done = self.compiler.run(self.model, "result.onnx", more=more, rules=rules, cwd=out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {p.name: p.read_bytes() for p in out.iterdir()}, done.stderr

    def compile(self, *more, rules=None, taken=None, kept=None, size="1G"):
        """With the cache and without: the same. `taken` and `kept` are numbers of weights of this test's size."""
        plain = self.run_in("plain", "-v", *more, rules=rules)
        cached = self.run_in("cached", "-v", "--cache", self.cache, "--cache-size", size, *more, rules=rules)
        line = re.search(r"\n  cache: ([\d.]+) MB of cast weights taken, ([\d.]+) MB kept(.*)", cached[1])
        self.assertIsNotNone(line, cached[1])
        self.assertEqual(cached[0], plain[0])
        self.assertEqual(cached[1].replace(line[0], ""), plain[1])
        for what, number, text in (("taken", taken, line[1]), ("kept", kept, line[2])):
            if number is not None:
                self.assertAlmostEqual(float(text), number * WIDTH * WIDTH * 2 / 1e6, delta=0.06, msg=what)
        return line[3]

    def entries(self, end=""):
        return sorted(p for p in (self.cache / "v1").iterdir() if p.name.endswith(end))

    def test_the_second_run_casts_nothing(self):
        self.compile(taken=0, kept=4)
        before = self.entries()
        self.compile(taken=4, kept=0)
        self.compile("-j1", taken=4, kept=0)
        self.compile("--external-data", taken=4, kept=0)
        self.compile("--external-data", "--threshold", "100000000", taken=4, kept=0)
        self.assertEqual(self.entries(), before)

    def test_kept_from_a_data_file(self):
        self.compile("--external-data", taken=0, kept=4)
        self.compile(taken=4, kept=0)

    def test_data_types_and_policies_are_told_apart(self):
        self.compile(taken=0, kept=4)
        self.compile("--dtype", "bf16", taken=0, kept=4)
        self.compile("--dtype", "bf16", taken=4, kept=0)
        self.compile(taken=4, kept=0)

    def test_an_edited_rule_casts_one_layer(self):
        team = self.folder / "team.amp"
        team.write_text(f'amp 1\nimport "{DEFAULT_RULES}"\nnode "product2" keep fp32\n')
        self.compile(rules=team, taken=0, kept=3)
        self.compile(taken=3, kept=1)

    def test_an_edited_model_casts_one_layer(self):
        self.compile(taken=0, kept=4)
        changed = weights(4)
        changed[1][5, 7] += 1
        onnx.save(chain(changed), self.model)
        self.compile(taken=3, kept=1)

    def test_warnings_are_the_same(self):
        """Of a weight that overflows, by each policy, and of one much of which would vanish."""
        large, tiny = weights(2)
        large[0, :3] = 1e6
        tiny[:] = tiny * 1e-7
        onnx.save(chain([large, tiny, *weights(1, 5)]), self.model)
        for policy in ("keep", "clamp", "inf"):
            rules = self.folder / f"{policy}.amp"
            rules.write_text(f'amp 1\nimport "{DEFAULT_RULES}"\noverflow {policy}\n')
            self.compile(rules=rules)
            self.compile(rules=rules)
            said = self.run_in("cached", "--cache", self.cache, rules=rules)[1]
            self.assertIn("AMPC1020", said)

    def test_equal_weights_are_kept_once(self):
        """And stay apart in the output, as they are without a cache."""
        one = weights(1)[0]
        onnx.save(chain([one, one.copy(), one.copy()]), self.model)
        self.compile("--external-data", taken=0, kept=1)
        self.compile("--external-data", taken=3, kept=0)
        self.compile(taken=3, kept=0)

    def test_small_weights_take_no_part(self):
        global WIDTH
        before, WIDTH = WIDTH, 64
        self.addCleanup(lambda: globals().update(WIDTH=before))
        onnx.save(chain(weights(3)), self.model)
        self.compile(taken=0, kept=0)
        self.assertEqual(self.entries(), [])

    def test_damaged_entries(self):
        self.compile(taken=0, kept=4)
        for number, damage in enumerate((lambda p: os.truncate(p, p.stat().st_size // 2), lambda p: os.truncate(p, 0),
                                         lambda p: p.write_bytes(os.urandom(p.stat().st_size)), self.flip)):
            with self.subTest(number):
                for entry in self.entries()[:3]:
                    damage(entry)
                self.assertIn(", 3 damaged entries removed", self.compile())
                self.assertEqual(self.compile(taken=4, kept=0), "")

    def flip(self, path):
        data = bytearray(path.read_bytes())
        data[len(data) // 3] ^= 1
        path.write_bytes(data)

    def test_many_processes_at_once(self):
        """Some that take, some that keep, and a size that makes them remove one another's entries."""
        expected = self.run_in("plain")[0]["result.onnx"]
        for size in ("10G", "3M"):
            for turn in range(3):
                shutil.rmtree(self.cache, ignore_errors=True)
                runs = []
                for i in range(5):
                    out = self.folder / f"out{i}.onnx"
                    out.unlink(missing_ok=True)
                    runs.append((out, subprocess.Popen(
                        [self.compiler.program, DEFAULT_RULES, self.model, "-o", out, "--cache", self.cache, "--cache-size",
                         size], stderr=subprocess.PIPE, text=True)))
                for out, run in runs:
                    said = run.communicate(timeout=120)[1]
                    self.assertEqual(run.returncode, 0, said)
                    self.assertNotIn("AMPC2010", said)
                    self.assertEqual(out.read_bytes(), expected)
                self.assertEqual(list((self.cache / "v1").glob(".*")), [])

    def test_killed_while_it_keeps(self):
        expected = self.run_in("plain")[0]["result.onnx"]
        for turn in range(8):
            run = subprocess.Popen([self.compiler.program, DEFAULT_RULES, self.model, "-o", self.folder / "k.onnx", "-q",
                                    "--cache", self.cache])
            try:
                run.wait(0.01 * (turn + 1))
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()
            self.assertEqual(self.run_in("next", "--cache", self.cache)[0]["result.onnx"], expected)
            self.assertEqual(list((self.cache / "v1").glob(".*")), [], "left behind")
            for entry in self.entries()[:4]:
                entry.unlink()

    # ---- ampc cast ---------------------------------------------------------------------------------------------------

    def ampc(self, *args, status=0):
        done = subprocess.run([self.compiler.program, *map(str, args)], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def cast(self, shard, *more, taken=None, kept=None, plan="p"):
        """A shard with the cache and without: the same. `taken` and `kept` as above."""
        self.ampc("cast", "--plan", plan, "--shard", shard, "-o", "plain.shard")
        said = self.ampc("cast", "--plan", plan, "--shard", shard, "-o", f"{shard[0]}.shard", "-v", "--cache", self.cache, *more)
        self.assertEqual((self.folder / f"{shard[0]}.shard").read_bytes(), (self.folder / "plain.shard").read_bytes())
        line = re.search(r"\n  cache: ([\d.]+) MB of cast weights taken, ([\d.]+) MB kept(.*)", said)
        self.assertIsNotNone(line, said)
        for what, number, text in (("taken", taken, line[1]), ("kept", kept, line[2])):
            if number is not None:
                self.assertAlmostEqual(float(text), number * WIDTH * WIDTH * 2 / 1e6, delta=0.06, msg=what)
        return line[3]

    def test_shards_share_with_whole_runs(self):
        """Of a weight that a shard has whole, the entry is that of `ampc RULES MODEL`."""
        for more in ([], ["--unmeasured"]):
            with self.subTest(more):
                shutil.rmtree(self.cache, ignore_errors=True)
                self.ampc("plan", DEFAULT_RULES, self.model, "-o", "p", "--shards", 2, *more)
                self.cast("1/2", taken=0, kept=2)
                self.cast("1/2", taken=2, kept=0)
                self.compile(taken=2, kept=2)
                self.cast("2/2", taken=2, kept=0)
                self.compile(taken=4, kept=0)
                self.ampc("link", "--plan", "p", "1.shard", "2.shard", "-o", "linked.onnx")
                self.assertEqual((self.folder / "linked.onnx").read_bytes(), self.run_in("plain")[0]["result.onnx"])

    def test_parts_of_weights_in_shards(self):
        self.ampc("plan", DEFAULT_RULES, self.model, "-o", "p", "--shards", 3)
        before = [self.cast(f"{i}/3", taken=0) for i in (1, 2, 3)]
        self.assertEqual(before, ["", "", ""])
        self.compile(taken=2)  # the first and the last one are whole
        for i in (1, 2, 3):
            self.cast(f"{i}/3", kept=0)
        self.cast("2/3", taken=4 / 3)

    def test_shards_of_weights_out_of_range(self):
        large = weights(1)[0]
        large[7, :3] = 1e6
        onnx.save(chain([large, *weights(2, 5)]), self.model)
        self.ampc("plan", DEFAULT_RULES, self.model, "-o", "p", "--unmeasured")
        for _ in range(2):
            self.cast("1/1")
            said = self.ampc("link", "--plan", "p", "1.shard", "-o", "linked.onnx", status=1)
            self.assertIn("3 elements are too large for fp16", said)

    def test_shards_of_an_edited_model(self):
        self.ampc("plan", DEFAULT_RULES, self.model, "-o", "p")
        self.cast("1/1", taken=0, kept=4)
        changed = weights(4)
        changed[1][5, 7] += 1
        onnx.save(chain(changed), self.model)
        said = self.ampc("cast", "--plan", "p", "--shard", "1/1", "-o", "s", "-v", "--cache", self.cache, status=1)
        self.assertIn("holds other bytes than when the plan was made", said)
        self.assertEqual(len(self.entries("fp16")), 4)  # nothing of it is kept
        self.ampc("plan", DEFAULT_RULES, self.model, "-o", "p")
        self.cast("1/1", taken=3, kept=1)

    def test_shards_and_damaged_entries_and_the_size(self):
        self.ampc("plan", DEFAULT_RULES, self.model, "-o", "p")
        self.cast("1/1", taken=0, kept=4)
        for entry in self.entries("fp16")[:3]:
            self.flip(entry)
        self.assertEqual(self.cast("1/1", taken=1, kept=3), ", 3 damaged entries removed")
        self.cast("1/1", "--cache-size", 2 * WIDTH * WIDTH * 2 + 4000)
        self.assertEqual(len(self.entries("fp16")), 2)
        self.assertIn("--cache", self.ampc("cast", "--plan", "p", "--shard", "1/1", "-o", "s", "--cache-size", "1G", status=2))

    def test_shards_and_a_folder_that_cannot_be_used(self):
        self.cache.write_text("a file")
        self.ampc("plan", DEFAULT_RULES, self.model, "-o", "p")
        self.ampc("cast", "--plan", "p", "--shard", "1/1", "-o", "plain.shard")
        for more, noted in (([], True), (["-q"], False)):
            said = self.ampc("cast", "--plan", "p", "--shard", "1/1", "-o", "s", "--cache", self.cache, *more)
            self.assertEqual("note[AMPC2010]" in said, noted, said)
            self.assertEqual((self.folder / "s").read_bytes(), (self.folder / "plain.shard").read_bytes())

    def test_size(self):
        payload = WIDTH * WIDTH * 2
        limit = 2 * payload + 4000
        self.compile(size=limit)
        self.assertLessEqual(sum(p.stat().st_size for p in self.entries()), limit)
        self.assertEqual(len(self.entries("fp16")), 2)
        self.compile(size="1K")
        self.assertLessEqual(sum(p.stat().st_size for p in self.entries()), 1024)

    def test_a_folder_that_cannot_be_used(self):
        """A note, and the work is done without it."""
        plain = self.run_in("plain")[0]
        self.cache.write_text("a file")
        for more, noted in (([], True), (["-q"], False)):
            files, said = self.run_in("cached", "--cache", self.cache, *more)
            self.assertEqual(files, plain)
            self.assertEqual("note[AMPC2010]" in said, noted, said)
            self.assertEqual(str(self.cache) in said, noted, said)
        self.assertEqual(self.cache.read_text(), "a file")

    def test_a_folder_that_cannot_be_written(self):
        """As another user where the tests run as root, whom no permission stops. What is there is taken."""
        self.compile(taken=0, kept=4)
        entry = self.entries("fp16")[0]
        entry.unlink()
        plain = self.run_in("plain")[0]["result.onnx"]
        program, rules, out = self.folder / "ampc", self.folder / "rules.amp", self.folder / "free"
        shutil.copy(self.compiler.program, program)
        shutil.copytree(DEFAULT_RULES.parent, self.folder / "rules")
        out.mkdir()
        self.folder.chmod(0o755)
        out.chmod(0o777)
        for path in (self.cache, self.cache / "v1"):
            path.chmod(0o555)
            self.addCleanup(path.chmod, 0o755)
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run([program, self.folder / "rules" / DEFAULT_RULES.name, self.model, "-o", out / "o.onnx",
                               "--cache", self.cache, "-v"], capture_output=True, text=True, **user)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((out / "o.onnx").read_bytes(), plain)
        self.assertIn("note[AMPC2010]", done.stderr)
        self.assertIn(f"cache: {3 * WIDTH * WIDTH * 2 / 1e6:.1f} MB of cast weights taken, 0.0 MB kept", done.stderr)

    def test_the_size_alone_is_wrong_usage(self):
        done = self.compiler.run(self.model, self.folder / "o.onnx", more=["--cache-size", "1G"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("--cache", done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True, type=Path)
    args, more = parser.parse_known_args()
    WeightCache.compiler = Compiler(args.ampc)
    unittest.main(argv=[sys.argv[0], *more])


if __name__ == "__main__":
    main()
