#!/usr/bin/env python3
"""ampc plan, cast and link: the bytes that one process writes, from any number of shards in any order; and what is no
shard of the plan, whole and once, is refused.

    shards.py --ampc PATH [--models FOLDER] [-v] [TEST…]
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiler import CASES, DEFAULT_RULES, UNCONVERTED, Compiler

WIDTH = 192
COUNTS = (1, 2, 3, 7, 64)


def model_of(change=lambda arrays: None, raw=False):
    """Products by large weights and small ones, one of them read twice, one with the bytes of another, one kept as it is,
    one that stands in a node, and one whose elements the file has in a field of their own."""
    rng = np.random.default_rng(11)
    arrays = [(rng.standard_normal((WIDTH, WIDTH)) / WIDTH).astype(np.float32) for _ in range(5)]
    arrays[2] = arrays[1].copy()
    change(arrays)
    nodes, weights, value = [], [], "x"
    for i, which in enumerate((0, 1, 2, 0, 3, 4)):
        if i == 4:
            nodes.append(helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(arrays[3])))
        nodes += [helper.make_node("MatMul", [value, "c" if i == 4 else f"w{which}"], [f"m{i}"]),
                  helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"])]
        value = f"a{i}"
        weights.append(numpy_helper.from_array(rng.standard_normal(WIDTH).astype(np.float32), f"b{i}"))
    for i in (0, 1, 2):
        weights.append(numpy_helper.from_array(arrays[i], f"w{i}"))
    weights.append(numpy_helper.from_array(arrays[4], "w4") if raw else
                   helper.make_tensor("w4", TensorProto.FLOAT, arrays[4].shape, arrays[4].reshape(-1).tolist()))
    table = rng.integers(0, 100, 4000)
    weights.append(numpy_helper.from_array(table, "table"))
    nodes += [helper.make_node("Constant", [], ["floats"], value_floats=rng.standard_normal(WIDTH * 3).tolist()),
              helper.make_node("Constant", [], ["shape"], value_ints=[3, WIDTH]),
              helper.make_node("Reshape", ["floats", "shape"], ["rows"]),
              helper.make_node("Concat", [value, "rows"], ["y"], axis=0),
              helper.make_node("Gather", ["table", "i"], ["z"])]
    graph = helper.make_graph(
        nodes, "all", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTH]),
                       helper.make_tensor_value_info("i", TensorProto.INT64, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, WIDTH]),
         helper.make_tensor_value_info("z", TensorProto.INT64, [1])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model


def share_places(path):
    """Makes two tensors of a model with external data point to the same bytes."""
    model = onnx.load(path, load_external_data=False)
    tensors = {t.name: t for t in model.graph.initializer}
    del tensors["w2"].external_data[:]
    tensors["w2"].external_data.extend(tensors["w1"].external_data)
    onnx.save(model, path)


class Shards(unittest.TestCase):
    compiler: Compiler
    models: Path

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = self.folder / "model.onnx"
        self.random = random.Random(5)
        onnx.save(model_of(), self.model)

    def ampc(self, *args, cwd=None):
        return subprocess.run([self.compiler.program, *map(str, args)], capture_output=True, text=True, timeout=300,
                              cwd=cwd or self.folder, env={**os.environ, "NO_COLOR": "1"})

    def good(self, *args, cwd=None):
        done = self.ampc(*args, cwd=cwd)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def plan(self, model=None, count=3, name="p", more=(), rules=DEFAULT_RULES):
        self.good("plan", rules, model or self.model, "-o", name, "--shards", count, *more)
        return self.folder / name

    def cast(self, count=3, plan="p", only=None, more=(), end="shard"):
        shards = []
        for i in only or range(1, count + 1):
            shards.append(self.folder / f"{plan}.{i}.{end}")
            self.good("cast", "--plan", plan, "--shard", f"{i}/{count}", "-o", shards[-1], *more)
        return shards

    def outputs(self, folder):
        return {p.name: p.read_bytes() for p in (self.folder / folder).iterdir()}

    def assert_same(self, model, counts=COUNTS, more=(), rules=DEFAULT_RULES, plan_more=()):
        one = self.folder / "one"
        shutil.rmtree(one, ignore_errors=True)
        one.mkdir()
        whole = self.compiler.run(model, one / "out.onnx", more=more, rules=rules)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        for count in counts:
            self.plan(model, count, more=[*more, *plan_more], rules=rules)
            shards = self.cast(count)
            self.random.shuffle(shards)
            two = self.folder / "two"
            shutil.rmtree(two, ignore_errors=True)
            two.mkdir()
            self.good("link", "--plan", "p", *shards, "-o", two / "out.onnx")
            self.assertEqual(self.outputs("two"), self.outputs("one"), f"{model} in {count} shards, {more}")

    def assert_refused(self, done, *parts, code=None):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("error["), 1, done.stderr)
        if code:
            self.assertIn(code, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    # ---- the same bytes ----------------------------------------------------------------------------------------------

    def test_one_file(self):
        self.assert_same(self.model)

    def test_a_data_file(self):
        self.assert_same(self.model, counts=(1, 7), more=["--external-data", "--threshold", "4096"])

    def test_external_weights(self):
        onnx.save(model_of(), self.model, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=1024)
        self.assert_same(self.model, counts=(3, 64))
        self.assert_same(self.model, counts=(2,), more=["--external-data", "--dtype", "bf16"])

    def test_shared_external_weights(self):
        onnx.save(model_of(), self.model, save_as_external_data=True, location="weights.bin", size_threshold=1024)
        share_places(self.model)
        self.assert_same(self.model, counts=COUNTS, more=["--external-data"])
        self.assert_same(self.model, counts=(7,))

    def test_what_is_shared_is_cast_once(self):
        onnx.save(model_of(), self.model, save_as_external_data=True, location="weights.bin", size_threshold=1024)
        self.plan(count=1)
        before = self.cast(1)[0].stat().st_size
        share_places(self.model)
        self.plan(count=1)
        self.assertAlmostEqual(self.cast(1)[0].stat().st_size, before - WIDTH * WIDTH * 2, delta=200)

    def test_a_model_that_stays_as_it_is(self):
        rules = self.folder / "none.amp"
        rules.write_text("amp 1\n")
        self.assert_same(self.model, counts=(1, 3), rules=rules)
        self.assert_same(self.model, counts=(3,), rules=rules, more=["--external-data"])

    def test_weights_kept_beside_their_copy_and_weights_rounded(self):
        rules = self.folder / "both.amp"
        rules.write_text('amp 1\nimport "default.amp"\ntensor "w*" store fp32\n')
        self.assert_same(self.model, counts=(3,), rules=rules)

    def test_cases(self):
        every = 1 if os.environ.get("AMPC_FULL") else 5
        for path in sorted(CASES.glob("*.onnx"))[::every]:
            with self.subTest(path.stem):
                self.assert_same(path, counts=(2,), more=["--dtype", "bf16", "--level", "O2"])

    def test_real_models(self):
        paths = sorted(self.models.glob("*.onnx")) if self.models else []
        if not paths:
            self.skipTest("no models were given")
        for path in paths if os.environ.get("AMPC_FULL") else paths[::4]:
            with self.subTest(path.stem):
                self.assert_same(path, counts=(5,))
                self.assert_same(path, counts=(2,), more=["--external-data"])

    def test_any_number_of_threads_and_any_folder(self):
        self.plan(count=2)
        far = self.folder / "far"
        far.mkdir()
        shutil.copy(self.model, far)
        self.good("plan", DEFAULT_RULES, "model.onnx", "-o", "a", "--shards", 2, "-j", 1)
        self.good("plan", DEFAULT_RULES, "model.onnx", "-o", "a", "--shards", 2, "-j", 4, cwd=far)
        self.assertEqual((far / "a").read_bytes(), (self.folder / "a").read_bytes())
        few, many = (self.cast(2, more=["-j", n], end=f"j{n}") for n in (1, 4))
        self.assertEqual([p.read_bytes() for p in few], [p.read_bytes() for p in many])
        self.good("link", "--plan", "p", *few, "-o", "few.onnx", "-j", 1)
        self.good("link", "--plan", "p", *many, "-o", "many.onnx", "-j", 4)
        self.assertEqual((self.folder / "few.onnx").read_bytes(), (self.folder / "many.onnx").read_bytes())

    def test_a_pair_is_replaced(self):
        for level in ("O1", "O2"):
            self.assert_same(self.model, counts=(2,), more=["--external-data", "--level", level])
            shutil.copytree(self.folder / "two", self.folder / "place", dirs_exist_ok=True)
            self.good("link", "--plan", "p", *self.folder.glob("p.[12].shard"), "-o", "place/out.onnx")
            self.assertEqual(self.outputs("place"), self.outputs("two"))

    # ---- the plan ----------------------------------------------------------------------------------------------------

    def test_the_plan_is_small_and_says_what_it_is(self):
        onnx.save(model_of(raw=True), self.model)
        text = self.plan(count=64).read_bytes()
        self.assertLess(len(text), self.model.stat().st_size / 20)
        first, second = text.split(b"\n")[:2]
        self.assertRegex(first.decode(), r"^ampc plan 2 [0-9a-f]{32}$")
        self.assertEqual(len(json.loads(second)["shards"]), 64)

    def test_shards_are_balanced(self):
        for count in (2, 7):
            plan = json.loads(self.plan(count=count).read_bytes().split(b"\n")[1])
            width = {1: 4, 10: 2}
            costs = []
            for shard in plan["shards"]:
                cost = 0
                for job, _, size in shard["ranges"]:
                    kind, _, _, _, source, target, *_ = plan["jobs"][job]
                    cost += size + (size // width[source] * width[target] if kind == 1 else size)
                costs.append(cost)
            self.assertLessEqual(max(costs) - min(costs), 256, costs)

    def test_a_shard_reads_only_its_own_bytes(self):
        plan = json.loads(self.plan(count=3).read_bytes().split(b"\n")[1])
        whole = self.model.read_bytes()
        for i, shard in enumerate(plan["shards"], 1):
            with_all = self.cast(3, only=[i])[0].read_bytes()
            alone = bytearray(len(whole))
            for job, begin, size in shard["ranges"]:
                begin += plan["jobs"][job][2]
                alone[begin:begin + size] = whole[begin:begin + size]
            (self.folder / "alone.onnx").write_bytes(alone)
            other = self.cast(3, only=[i], more=["--model", "alone.onnx"], end="alone")[0]
            self.assertEqual(other.read_bytes(), with_all)

    def test_depfiles(self):
        onnx.save(model_of(), self.model, save_as_external_data=True, location="w.bin", size_threshold=1024)
        self.good("plan", DEFAULT_RULES, "model.onnx", "-o", "p", "--shards", 2, "--depfile", "p.d")
        names = (self.folder / "p.d").read_text().replace("\\\n", "").split()
        self.assertEqual(names[:2], ["p:", "model.onnx"])
        self.assertIn("w.bin", names)
        self.assertIn(str(DEFAULT_RULES), names)
        self.cast(2, more=["--depfile", "c.d"])
        self.assertEqual((self.folder / "c.d").read_text().replace("\\\n", "").split(),
                         [f"{self.folder}/p.2.shard:", "p", "w.bin"])
        self.good("link", "--plan", "p", "p.2.shard", "p.1.shard", "-o", "out.onnx", "--depfile", "l.d")
        self.assertEqual((self.folder / "l.d").read_text().replace("\\\n", "").split(),
                         ["out.onnx:", "p", "p.1.shard", "p.2.shard"])
        self.good("plan", DEFAULT_RULES, "model.onnx", "-o", "p", "--external-data")
        self.cast(1)
        self.good("link", "--plan", "p", "p.1.shard", "-o", "out.onnx", "--depfile", "l.d")
        self.assertTrue((self.folder / "l.d").read_text().startswith("out.onnx out.onnx.data: \\\n"))

    def test_depfiles_as_compilers_spell_them(self):
        def text(name):
            return (self.folder / name).read_text().replace("\\\n", "")

        self.good("plan", DEFAULT_RULES, "model.onnx", "-o", "m.plan", "-MD", "-MP")
        first, *phony = text("m.d").splitlines()
        self.assertTrue(first.startswith("m.plan:   model.onnx "), first)
        self.assertIn(f"{DEFAULT_RULES}:", phony)
        self.assertNotIn("model.onnx:", phony)
        self.good("cast", "--plan", "m.plan", "--shard", "1/1", "-o", "1.shard", "-MMD", "-MF", "-c.d", "-MTa b", "-MQ", "a b")
        self.assertEqual(text("-c.d"), "a b a\\ b:   m.plan   model.onnx\n")
        self.good("link", "--plan", "m.plan", "1.shard", "-o", "out.onnx", "-MD", "-MP", "-MT", "all")
        self.assertEqual(text("out.d"), "all:   m.plan   1.shard\n1.shard:\n")
        for command in (["plan", DEFAULT_RULES, "model.onnx"], ["cast", "--plan", "m.plan", "--shard", "1/1"],
                        ["link", "--plan", "m.plan", "1.shard"]):
            for more in (["-MP"], ["-MT", "x"], ["-MQx"]):
                done = self.ampc(*command, "-o", "none", *more)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("ask for one with --depfile FILE (-MF FILE) or -MD", done.stderr)
                self.assertIn(f"ampc {command[0]} --help", done.stderr)
                self.assertFalse((self.folder / "none").exists())

    def test_outputs_of_the_same_bytes_stay(self):
        def run():
            self.plan(count=1, more=["--write-if-changed"])
            self.cast(1, more=["--write-if-changed"])
            self.good("link", "--plan", "p", "p.1.shard", "-o", "out.onnx", "--write-if-changed")
            return [(self.folder / n).stat().st_mtime_ns for n in ("p", "p.1.shard", "out.onnx")]

        self.assertEqual(run(), run())

    # ---- weights out of range ----------------------------------------------------------------------------------------

    def test_unmeasured(self):
        self.assert_same(self.model, counts=(1, 7), plan_more=["--unmeasured"])
        self.assert_same(self.model, counts=(3,), more=["--external-data"], plan_more=["--unmeasured"])

    def test_a_weight_out_of_range(self):
        def far(arrays):
            arrays[0][100, 7] = 1e6

        def tiny(arrays):
            arrays[1][100:150] = 1e-9

        for change in (far, tiny):
            onnx.save(model_of(change), self.model)
            # Measured before anything is decided: as in one process.
            self.assert_same(self.model, counts=(3,))
            self.plan(count=3, more=["--unmeasured"])
            (self.folder / "out.onnx").write_text("old")
            done = self.ampc("link", "--plan", "p", *self.cast(3), "-o", "out.onnx")
            self.assert_refused(done, "weight 'w", "--unmeasured", code="AMPC2007")
            self.assertEqual((self.folder / "out.onnx").read_text(), "old")

    # ---- another model, of which a plan has read a sample ------------------------------------------------------------

    def write(self, path, change=lambda arrays: None, external=False):
        (Path(path).parent / "w.bin").unlink(missing_ok=True)  # onnx would append to it
        more = dict(save_as_external_data=True, location="w.bin", size_threshold=1024) if external else {}
        onnx.save(model_of(change, raw=True), path, **more)

    @staticmethod
    def one_number(arrays):
        """Far from the ends of the weight, as of any half of it."""
        arrays[0][WIDTH * 5 // 16, 3] += 1

    def test_unmeasured_and_another_model_of_the_same_size(self):
        def trained(arrays):
            for a in arrays:
                a += np.float32(0.001)

        for external in (False, True):
            self.write(self.model, external=external)
            size = self.model.stat().st_size
            self.plan(count=3, more=["--unmeasured"])
            before = self.cast(3)
            # All weights are others: whoever casts sees it.
            self.write(self.model, trained, external=external)
            self.assertEqual(self.model.stat().st_size, size)
            for i in (1, 2, 3):
                self.assert_refused(self.ampc("cast", "--plan", "p", "--shard", f"{i}/3", "-o", "s"), "other bytes",
                                    "make the plan again", code="AMPC1016")
            # A name is another, of as many letters, and no weight is.
            self.write(self.model, external=external)
            whole = self.model.read_bytes()
            self.assertEqual(whole.count(b"table"), 2)
            self.model.write_bytes(whole.replace(b"table", b"tafel"))
            for i in (1, 2, 3):
                self.assert_refused(self.ampc("cast", "--plan", "p", "--shard", f"{i}/3", "-o", "s"),
                                    "in more than its weights", code="AMPC1016")
            # The same bytes in another file are the same model.
            self.model.unlink()
            self.write(self.model, external=external)
            self.assertEqual([s.read_bytes() for s in self.cast(3, end="again")], [s.read_bytes() for s in before])

    def test_link_can_make_sure_of_every_byte(self):
        """One number between those of the sample: no cast sees it, and the linker does where it is given the model."""
        for external in (False, True):
            versions = []
            for name, change in (("old", lambda arrays: None), ("new", self.one_number)):
                (self.folder / name).mkdir(exist_ok=True)
                self.write(self.folder / name / "model.onnx", change, external)
                versions.append(self.folder / name / "model.onnx")
            old, new = versions
            self.plan(old, count=2, more=["--unmeasured"])
            of_old = self.cast(2, more=["--model", old], end="old")
            of_new = self.cast(2, more=["--model", new], end="new")
            differ = [i for i in (0, 1) if of_old[i].read_bytes() != of_new[i].read_bytes()]
            self.assertEqual(len(differ), 1)
            mixed = [of_new[0], of_old[1]] if differ == [0] else [of_old[0], of_new[1]]
            self.good("link", "--plan", "p", *of_old, "-o", "out.onnx", "--model", old, "--depfile", "l.d")
            self.assertIn(str(old), (self.folder / "l.d").read_text())
            self.assertEqual("w.bin" in (self.folder / "l.d").read_text(), external)
            linked = self.compiler.run(old, self.folder / "whole.onnx")
            self.assertEqual(linked.returncode, 0, linked.stderr)
            self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "whole.onnx").read_bytes())
            number = differ[0] + 1
            for shards, model, end in ((mixed, old, "new"), (of_old, new, "old"), (of_new, old, "new")):
                done = self.ampc("link", "--plan", "p", *shards, "-o", "none.onnx", "--model", model)
                self.assert_refused(done, f"p.{number}.{end}", "another model", f"--shard {number}/2", code="AMPC2006")
                self.assertFalse((self.folder / "none.onnx").exists())
            # Without it, nothing can tell: that much --unmeasured leaves open.
            self.good("link", "--plan", "p", *mixed, "-o", "out.onnx")
            # A plan that has read the weights knows every byte.
            self.plan(old, count=2)
            done = self.ampc("cast", "--plan", "p", "--shard", f"{number}/2", "-o", "s", "--model", new)
            self.assert_refused(done, "other bytes", code="AMPC1016")
            shards = self.cast(2, more=["--model", old])
            self.good("link", "--plan", "p", *shards, "-o", "out.onnx", "--model", old)
            done = self.ampc("link", "--plan", "p", *shards, "-o", old, "--model", old)
            self.assert_refused(done, code="AMPC2002")
            done = self.ampc("link", "--plan", "p", *shards, "-o", "none.onnx", "--model", "absent.onnx")
            self.assert_refused(done, "cannot read what the plan was made from", code="AMPC1001")

    def test_unmeasured_needs_the_model_beside_its_data(self):
        self.write(self.model, external=True)
        self.plan("model.onnx", count=2, more=["--unmeasured"])
        self.cast(2, more=["--depfile", "c.d"])
        self.assertEqual((self.folder / "c.d").read_text().replace("\\\n", "").split()[1:], ["p", "model.onnx", "w.bin"])
        self.model.unlink()
        self.assert_refused(self.ampc("cast", "--plan", "p", "--shard", "2/2", "-o", "s"), "--model", code="AMPC1001")

    def test_unmeasured_reads_a_sample(self):
        """By memory: pages of a mapped file count where they are read. The weight has 61 MiB."""
        model = helper.make_model(helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4000])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4000])],
            [numpy_helper.from_array(np.ones((4000, 4000), np.float32), "w")]), ir_version=9,
            opset_imports=[helper.make_opsetid("", 17)])
        onnx.save(model, self.model)

        def peak(*more):
            process = subprocess.Popen([self.compiler.program, "plan", DEFAULT_RULES, "model.onnx", "-o", "p", "-q", *more],
                                       cwd=self.folder)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            return usage.ru_maxrss / 1024  # MiB

        unmeasured = peak("--unmeasured")
        self.write(self.model)
        self.assertLess(unmeasured - peak("--unmeasured"), 10)

    # ---- what is refused ---------------------------------------------------------------------------------------------

    def refuse_link(self, shards, *parts, plan="p", code="AMPC2006"):
        out = self.folder / "out.onnx"
        out.write_text("old")
        before = sorted(p.name for p in self.folder.iterdir())
        self.assert_refused(self.ampc("link", "--plan", plan, *shards, "-o", out), *parts, code=code)
        self.assertEqual(out.read_text(), "old")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), before)

    def test_missing_and_doubled_and_foreign_shards(self):
        self.plan()
        shards = self.cast()
        self.refuse_link(shards[:2], "3/3 is missing", "--shard 3/3")
        self.refuse_link(shards[1:2], "1/3, 3/3 are missing")
        self.refuse_link([*shards, shards[1]], "shard 2/3 is here twice")
        shutil.copy(shards[0], self.folder / "copy")
        self.refuse_link([*shards[:2], "copy"], "shard 1/3 is here twice")
        self.plan(count=3, name="q", more=["--dtype", "bf16"])
        foreign = self.cast(plan="q")
        self.refuse_link([*shards[:2], foreign[2]], "another plan", "q.3.shard")
        self.refuse_link([*shards[:2], self.model], "no shard")
        self.refuse_link([*shards[:2], "absent"], "cannot read the shard", code="AMPC1001")
        self.plan(count=64, name="many")
        self.refuse_link(self.cast(64, plan="many", only=[64]), "1/64", "and 55 more", plan="many")

    def test_damaged_shards(self):
        self.plan()
        shards = self.cast()
        whole = shards[1].read_bytes()
        places = [0, len(whole) // 3, *(len(whole) - 1 - i for i in range(0, 420, 13))]
        for at in places:
            shards[1].write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            with self.subTest(at=at, size=len(whole)):
                self.refuse_link(shards, "p.2.shard")
        for size in (0, 1, len(whole) // 2, len(whole) - 1):
            shards[1].write_bytes(whole[:size])
            with self.subTest(size=size):
                self.refuse_link(shards, "p.2.shard")
        shards[1].write_bytes(whole + b"x")
        self.refuse_link(shards, "p.2.shard")

    def test_damaged_plans(self):
        plan = self.plan()
        shards = self.cast()
        whole = plan.read_bytes()
        for at in [0, 10, 15, *range(20, len(whole), len(whole) // 20)]:
            plan.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            with self.subTest(at=at):
                self.refuse_link(shards, "p: ", code="AMPC2005")
                self.assert_refused(self.ampc("cast", "--plan", "p", "--shard", "1/3", "-o", "s"), code="AMPC2005")
        plan.write_bytes(whole[:-1])
        self.refuse_link(shards, "damaged", code="AMPC2005")
        plan.write_bytes(whole.replace(b"ampc plan 2 ", b"ampc plan 9 ", 1))
        self.refuse_link(shards, "format 9", code="AMPC2005")
        plan.unlink()
        self.refuse_link(shards, "cannot read the plan", code="AMPC1001")

    def test_another_model(self):
        self.plan()
        whole = self.model.read_bytes()
        at = len(whole) // 2
        self.model.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        done = [self.ampc("cast", "--plan", "p", "--shard", f"{i}/3", "-o", "s") for i in (1, 2, 3)]
        wrong = [d for d in done if d.returncode]
        self.assertEqual(len(wrong), 1)  # it is in the bytes of one
        self.assert_refused(wrong[0], "other bytes", code="AMPC1016")
        self.model.write_bytes(whole + b"x")
        self.assert_refused(self.ampc("cast", "--plan", "p", "--shard", "1/3", "-o", "s"), "the plan was made from",
                            code="AMPC1016")
        self.model.unlink()
        self.assert_refused(self.ampc("cast", "--plan", "p", "--shard", "1/3", "-o", "s"), "--model", code="AMPC1001")

    def test_outputs_that_are_inputs(self):
        self.plan()
        shards = self.cast()
        before = {p.name: p.read_bytes() for p in self.folder.iterdir()}
        for args in (["plan", DEFAULT_RULES, self.model, "-o", self.model],
                     ["cast", "--plan", "p", "--shard", "1/3", "-o", "p"],
                     ["cast", "--plan", "p", "--shard", "1/3", "-o", self.model],
                     ["cast", "--plan", "p", "--shard", "1/3", "-o", "s", "--depfile", "p"],
                     ["cast", "--plan", "p", "--shard", "1/3", "-o", "s", "--depfile", "s"],
                     ["link", "--plan", "p", *shards, "-o", "p"], ["link", "--plan", "p", *shards, "-o", shards[0]],
                     ["link", "--plan", "p", *shards, "-o", self.model]):
            with self.subTest(args):
                self.assert_refused(self.ampc(*args), code="AMPC2002")
        self.assertEqual({p.name: p.read_bytes() for p in self.folder.iterdir()}, before)

    def test_wrong_command_lines(self):
        self.plan()
        for shard in ("0/3", "4/3", "1/2", "3", "a/3", "1/3x", "-1/3", ""):
            with self.subTest(shard):
                done = self.ampc("cast", "--plan", "p", "--shard", shard, "-o", "s")
                self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.ampc("plan", DEFAULT_RULES, self.model, "-o", "q", "--shards", 0).returncode, 2)
        self.assertEqual(self.ampc("link", "--plan", "p", "-o", "out").returncode, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--models", type=Path)
    args, rest = parser.parse_known_args()
    Shards.compiler = Compiler(args.ampc)
    Shards.models = args.models
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
