#!/usr/bin/env python3
"""Weights in a file of their own: `--external-data`, and what happens by itself beyond 2 GiB.

    external_data.py --ampc PATH

The two files hold what the one file would, each weight of a page and more begins on a page, weights that share their
bytes share a place; the pair that is there is always a whole one, whatever moment a run is killed at. Under AMPC_FULL a
model of 2.5 GB is compiled that one file could not hold, and the pair is replaced 50 times under fire instead of 12.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiler import DEFAULT_RULES, Compiler

FULL = bool(os.environ.get("AMPC_FULL"))
PAGE = 4096


def weights_of(path):
    model = onnx.load(path)
    return {t.name: (t.data_type, numpy_helper.to_array(t).tobytes()) for t in model.graph.initializer}


def places(path):
    """Location, offset and length by initializer."""
    model = onnx.load(path, load_external_data=False)
    return {t.name: {e.key: e.value for e in t.external_data} for t in model.graph.initializer
            if t.data_location == TensorProto.EXTERNAL}


def chain(count, width, seed=0):
    """`count` products with weights of `width` x `width`, and a bias each."""
    rng = np.random.default_rng(seed)
    nodes, weights, value = [], [], "x"
    for i in range(count):
        weights += [numpy_helper.from_array(rng.standard_normal((width, width)).astype(np.float32) / width, f"w{i}"),
                    numpy_helper.from_array(rng.standard_normal(width).astype(np.float32), f"b{i}")]
        nodes += [helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"]),
                  helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"])]
        value = f"a{i}"
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, width])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, width])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class ExternalData(unittest.TestCase):
    compiler: Compiler

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.model = self.folder / "model.onnx"
        self.out = self.folder / "out.onnx"
        onnx.save(chain(4, 96), self.model)

    def tearDown(self):
        self.scratch.cleanup()

    def compile(self, *more, model=None, out=None):
        done = self.compiler.run(model or self.model, out or self.out, more=more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_holds_what_one_file_would(self):
        one = self.folder / "one.onnx"
        self.compile(out=one)
        self.compile("--external-data")
        self.assertEqual(sorted(p.name for p in self.folder.glob("out.onnx*")), ["out.onnx", "out.onnx.data"])
        self.assertEqual(weights_of(one), weights_of(self.out))
        onnx.checker.check_model(str(self.out), full_check=True)
        import onnxruntime
        feeds = {"x": np.random.default_rng(1).standard_normal((1, 96)).astype(np.float32)}
        results = [onnxruntime.InferenceSession(str(p), providers=["CPUExecutionProvider"]).run(None, feeds)[0]
                   for p in (one, self.out)]
        np.testing.assert_array_equal(*results)

    def test_large_weights_begin_on_a_page_and_small_ones_stay(self):
        self.compile("--external-data")
        found = places(self.out)
        self.assertEqual(sorted(found), [f"w{i}" for i in range(4)])
        size = (self.folder / "out.onnx.data").stat().st_size
        for place in found.values():
            self.assertEqual(place["location"], "out.onnx.data")
            self.assertEqual(int(place["offset"]) % PAGE, 0)
            self.assertLessEqual(int(place["offset"]) + int(place["length"]), size)

    def test_threshold(self):
        self.compile("--external-data", "--threshold", "100000000")
        self.assertEqual(places(self.out), {})
        self.assertFalse((self.folder / "out.onnx.data").exists())

    def test_same_bytes_for_any_number_of_threads(self):
        self.compile("--external-data", "-j1")
        once = [p.read_bytes() for p in (self.out, self.folder / "out.onnx.data")]
        self.compile("--external-data", "-j4")
        self.assertEqual(once, [p.read_bytes() for p in (self.out, self.folder / "out.onnx.data")])

    def test_weights_that_share_their_bytes_share_a_place(self):
        data = np.arange(96 * 96, dtype=np.float32).reshape(96, 96) / 9216
        (self.folder / "w.bin").write_bytes(data.tobytes())
        model = chain(2, 96)
        for t in model.graph.initializer:
            if not t.name.startswith("w"):
                continue
            t.ClearField("raw_data")
            t.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(data.nbytes))):
                t.external_data.add(key=key, value=value)
        onnx.save(model, self.model)
        self.compile("--external-data")
        found = places(self.out)
        self.assertEqual(found["w0"], found["w1"])
        self.assertEqual((self.folder / "out.onnx.data").stat().st_size, data.nbytes // 2)

    def test_level_off_keeps_every_weight(self):
        self.compile("--external-data", "--level", "O0")
        self.assertEqual(weights_of(self.model), weights_of(self.out))
        self.assertEqual(len(places(self.out)), 4)

    def test_write_if_changed_leaves_both_files_alone(self):
        self.compile("--external-data")
        files = [self.out, self.folder / "out.onnx.data"]
        before = [(p.stat().st_ino, p.stat().st_mtime_ns) for p in files]
        self.compile("--external-data", "--write-if-changed")
        self.assertEqual(before, [(p.stat().st_ino, p.stat().st_mtime_ns) for p in files])
        self.compile("--external-data", "--write-if-changed", "--level", "OD")
        self.assertNotEqual(before, [(p.stat().st_ino, p.stat().st_mtime_ns) for p in files])

    def test_the_data_file_is_not_to_be_an_input(self):
        model = chain(1, 96)
        onnx.save(model, self.folder / "in.onnx", save_as_external_data=True, location="out.onnx.data", size_threshold=0)
        before = (self.folder / "out.onnx.data").read_bytes()
        done = self.compiler.run(self.folder / "in.onnx", self.out, more=["--external-data"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("the output is the input", done.stderr)
        self.assertEqual((self.folder / "out.onnx.data").read_bytes(), before)

    def test_a_pair_that_is_replaced_keeps_its_mode_and_is_two_files_of_one_name_each(self):
        onnx.save(chain(2, 96), self.model)
        self.compile("--external-data")
        pair = [self.out, self.out.with_name("out.onnx.data")]
        for path in pair:
            path.chmod(0o640)
        self.compile("--external-data", "--dtype", "bf16")
        self.assertEqual([(path.stat().st_nlink, path.stat().st_mode & 0o777) for path in pair], [(1, 0o640)] * 2)

    def test_killed_at_any_moment_a_whole_pair_is_there(self):
        onnx.save(chain(6, 512, seed=1), self.model)
        other = self.folder / "other.onnx"
        onnx.save(chain(6, 512, seed=2), other)
        expected = []
        for model in (self.model, other):
            self.compile("--external-data", model=model)
            expected.append(weights_of(self.out))
        start = time.perf_counter()
        self.compile("--external-data")
        whole = time.perf_counter() - start
        rng = random.Random(3)
        killed = 0
        for turn in range(50 if FULL else 12):
            model = (other, self.model)[turn % 2]
            run = subprocess.Popen([self.compiler.program, str(DEFAULT_RULES), str(model), "-o", str(self.out),
                                    "--external-data", "-q"], stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.2, 1.1) * whole)
            run.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM]))
            killed += run.wait() < 0
            self.assertIn(weights_of(self.out), expected, f"turn {turn}")
        self.assertGreater(killed, 0, "no run was killed in time")
        self.compile("--external-data")
        self.assertEqual(list(self.folder.glob(".*")), [], "what killed runs left goes with the next one")

    @unittest.skipUnless(FULL, "takes 5 GB of disk; AMPC_FULL runs it")
    def test_beyond_two_gib_by_itself(self):
        width, count = 16384, 3
        size = width * width * 4
        with open(self.folder / "big.bin", "wb") as f:
            f.truncate(count * size)
            for i in range(count):
                f.seek(i * size + 4 * i)
                f.write(np.float32(i + 1).tobytes())
        weights = []
        for i in range(count):
            t = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[width, width],
                            data_location=TensorProto.EXTERNAL)
            for key, value in (("location", "big.bin"), ("offset", str(i * size)), ("length", str(size))):
                t.external_data.add(key=key, value=value)
            weights.append(t)
        nodes = [helper.make_node("Exp", [f"w{i}"], [f"y{i}"]) for i in range(count)]
        graph = helper.make_graph(nodes, "big", [], [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT,
                                                                                   [width, width])
                                                     for i in range(count)], weights)
        big = self.folder / "big.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), big)
        self.compile(model=big)
        found = places(self.out)
        self.assertEqual(sorted(found), ["w0", "w1", "w2"])
        with open(self.folder / "out.onnx.data", "rb") as f:
            for i in range(count):
                f.seek(int(found[f"w{i}"]["offset"]) + 4 * i)
                self.assertEqual(np.frombuffer(f.read(4), np.float32)[0], i + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True, type=Path)
    args, more = parser.parse_known_args()
    ExternalData.compiler = Compiler(args.ampc)
    unittest.main(argv=[sys.argv[0], *more])


if __name__ == "__main__":
    main()
