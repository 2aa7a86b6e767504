#!/usr/bin/env python3
"""`--cast-device`: the same bytes from whoever casts, a note where a device was asked for and there is none.

    cast_device.py --ampc PATH
"""

import argparse
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiler import Compiler


def model_of(sizes):
    rng = np.random.default_rng(5)
    nodes, weights, value = [], [], "x"
    for i, (rows, columns) in enumerate(sizes):
        weights.append(numpy_helper.from_array(rng.standard_normal((rows, columns)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"]))
        value = f"m{i}"
    graph = helper.make_graph(nodes, "chain",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, sizes[0][0]])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, sizes[-1][1]])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class CastDevice(unittest.TestCase):
    compiler: Compiler

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.model = self.folder / "model.onnx"
        onnx.save(model_of([(64, 3000), (3000, 1000), (1000, 333), (333, 7)]), self.model)

    def tearDown(self):
        self.scratch.cleanup()

    def compile(self, name, *more):
        out = self.folder / name
        done = self.compiler.run(self.model, out, more=more)
        self.assertEqual(done.returncode, 0, done.stderr)
        data = out.with_name(out.name + ".data")
        return done.stderr, out.read_bytes(), data.read_bytes() if data.exists() else b""

    def test_same_bytes_from_everyone(self):
        for extra in ([], ["--external-data"], ["--dtype", "bf16"], ["-j", "1"]):
            with self.subTest(extra=extra):
                text, *want = self.compile("a.onnx", "-v", *extra)
                self.assertNotIn("cast-device", text)
                for device in ("cuda", "auto"):
                    text, *got = self.compile("a.onnx", "-v", "--cast-device", device, *extra)
                    self.assertEqual(got, want)
                    self.assertEqual(text.count(f"--cast-device {device}: "), 1, text)

    def test_the_same_shards_from_everyone(self):
        """What a device that is there, or is played, makes of them is a matter of unit tests."""
        def ampc(*args):
            done = subprocess.run([self.compiler.program, *map(str, args)], capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stderr

        for more in ([], ["--unmeasured"]):
            ampc("plan", self.compiler.rules, self.model, "-o", "p", "--shards", 2, *more)
            for shard in ("1/2", "2/2"):
                cast = ["cast", "--plan", "p", "--shard", shard, "-v", "-o"]
                self.assertNotIn("cast-device", ampc(*cast, "cpu"))
                for device in ("cuda", "auto"):
                    with self.subTest(more=more, shard=shard, device=device):
                        text = ampc(*cast, "other", "--cast-device", device)
                        self.assertEqual(text.count(f"--cast-device {device}: "), 1, text)
                        self.assertEqual((self.folder / "other").read_bytes(), (self.folder / "cpu").read_bytes())

    def test_without_a_device_one_note_says_why(self):
        # No device is visible, whatever the machine has.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        try:
            text, *_ = self.compile("a.onnx", "--cast-device", "cuda")
            self.assertEqual(text.count("note[AMPC2009]: the CPU did casts that were meant for a device: "), 1, text)
            quiet, *_ = self.compile("a.onnx", "--cast-device", "cuda", "-q")
            self.assertEqual(quiet, "")
            auto, *_ = self.compile("a.onnx", "--cast-device", "auto")
            self.assertNotIn("AMPC2009", auto)
            plan = [self.compiler.program, "plan", self.compiler.rules, str(self.model), "-o", "p"]
            subprocess.run(plan, check=True, capture_output=True, cwd=self.folder)
            cast = [self.compiler.program, "cast", "--plan", "p", "--shard", "1/1", "-o", "s"]
            for more, notes in ((["--cast-device", "cuda"], 1), (["--cast-device", "cuda", "-q"], 0), (["--cast-device", "auto"], 0)):
                done = subprocess.run([*cast, *more], capture_output=True, text=True, cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count("note[AMPC2009]"), notes, done.stderr)
        finally:
            del os.environ["CUDA_VISIBLE_DEVICES"]

    def test_the_cpu_does_not_touch_the_driver(self):
        """No file of a driver is opened, none looked for, unless a device was asked for."""
        trace = self.folder / "trace"
        command = ["strace", "-f", "-e", "trace=open,openat,access,stat,newfstatat,readlink", "-o", str(trace)]
        try:
            subprocess.run([*command, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("strace is not there or not allowed")
        for device in ("cpu", "auto"):  # auto: this is too little for a device
            done = subprocess.run([*command, self.compiler.program, self.compiler.rules,
                                   str(self.model), "-o", str(self.folder / "a.onnx"),
                                   "--cast-device", device], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [line for line in trace.read_text().splitlines() if "libcuda" in line or "/dev/nvidia" in line]
            self.assertEqual(lines, [])

    def test_wrong_value_names_the_right_ones(self):
        done = self.compiler.run(self.model, self.folder / "a.onnx", more=["--cast-device", "gpu"])
        self.assertEqual(done.returncode, 2)
        for word in ("--cast-device", "gpu", "cpu", "cuda", "auto"):
            self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / "a.onnx").exists())
        done = subprocess.run([self.compiler.program, "cast", "--plan", "p", "--shard", "1/1", "-o", "s", "--cast-device", "gpu"],
                              capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 2)
        for word in ("--cast-device", "gpu", "cpu", "cuda", "auto", "ampc cast --help"):
            self.assertIn(word, done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True, type=Path)
    args, more = parser.parse_known_args()
    CastDevice.compiler = Compiler(args.ampc)
    unittest.main(argv=[sys.argv[0], *more])


if __name__ == "__main__":
    main()
