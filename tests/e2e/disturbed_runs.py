#!/usr/bin/env python3
"""What goes wrong while a model is compiled: inputs that change, disks that fail or are full, runs that are killed.

    disturbed_runs.py --ampc PATH [--read-error LIBRARY] [-v] [TEST…]

One clear error and exit code 1, no part of an output, nothing left behind; and what a killed run had to leave is gone
with the next one. The rules are given through a pipe: the program has mapped the model, and waits for them, while the
test changes it. AMPC_FULL makes more of the runs that end at a random moment.
"""

import argparse
import os
import random
import re
import resource
import shutil
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
ROWS = 64
LENGTH = 64 << 10  # of a row


def model(rows=ROWS, length=LENGTH, seed=0):
    weight = np.random.default_rng(seed).standard_normal((rows, length)).astype(np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, rows])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, length])],
                              [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Disturbed(unittest.TestCase):
    compiler: Compiler
    read_error: Path

    @classmethod
    def setUpClass(cls):
        cls.sources = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        onnx.save(model(), cls.sources / "one.onnx")
        onnx.save(model(), cls.sources / "two.onnx", save_as_external_data=True, location="weights.bin")

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for source in self.sources.iterdir():
            shutil.copy(source, self.folder)
        self.one, self.two = self.folder / "one.onnx", self.folder / "two.onnx"
        self.weights = self.folder / "weights.bin"
        self.out_folder = self.folder / "out"
        self.out_folder.mkdir()
        self.out = self.out_folder / "result.onnx"

    def rules_and_then(self, path, disturb, *more):
        """Runs the program, and `disturb`s once it has mapped `path`, before it has read its rules."""
        pipe = self.folder / "rules.amp"
        if not pipe.exists():
            os.mkfifo(pipe)
        source = self.one if path == self.one else self.two
        run = subprocess.Popen([self.compiler.program, str(pipe), str(source), "-o", str(self.out), *more],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "NO_COLOR": "1"})
        with open(pipe, "w") as rules:
            maps = Path(f"/proc/{run.pid}/maps")
            # The file with the weights is mapped last, when the model has been read.
            while str(path) not in maps.read_text():
                self.assertIsNone(run.poll(), "the program ended before it had its rules")
                time.sleep(0.002)
            time.sleep(0.05)
            disturb(path)
            rules.write(f'amp 1\nimport "{DEFAULT_RULES}"\n')
        stdout, stderr = run.communicate(timeout=120)
        return subprocess.CompletedProcess(run.args, run.returncode, stdout, stderr)

    def assert_error(self, done, path, code):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(re.findall(r"error\[(\w+)\]", done.stderr), [code], done.stderr)
        self.assertTrue(done.stderr.startswith(f"{path}: error["), done.stderr)
        self.assertIn("help:", done.stderr)

    def assert_refused(self, path, disturb, *more, code="AMPC1016"):
        """With no output there and with one of an earlier run."""
        original = path.read_bytes()
        for before in ([], [self.out]):
            self.out.unlink(missing_ok=True)
            for file in before:
                file.write_bytes(b"from an earlier run")
            self.assert_error(self.rules_and_then(path, disturb, *more), path, code)
            self.assertEqual(sorted(self.out_folder.iterdir()), before)
            for file in before:
                self.assertEqual(file.read_bytes(), b"from an earlier run")
            path.write_bytes(original)

    # ---- inputs that change

    def test_model_that_shrinks(self):
        self.assert_refused(self.one, lambda p: os.truncate(p, p.stat().st_size // 2))

    def test_data_that_shrinks(self):
        self.assert_refused(self.two.with_name("weights.bin"), lambda p: os.truncate(p, 4096))

    def test_data_that_is_emptied(self):
        self.assert_refused(self.weights, lambda p: os.truncate(p, 0), "-j1")

    def test_shrinks_while_it_is_copied(self):
        """Level O0 moves the bytes within the kernel, and has a file to remove when that ends early."""
        for path in (self.one, self.weights):
            with self.subTest(path.name):
                self.assert_refused(path, lambda p: os.truncate(p, p.stat().st_size // 2), "--level", "O0")
                self.assert_refused(path, lambda p: os.truncate(p, p.stat().st_size // 2), "--level", "O0",
                                    "--external-data")

    def test_shrinks_within_its_last_page(self):
        """No access faults: the rest of the page reads as zeros."""
        self.assert_refused(self.weights, lambda p: os.truncate(p, p.stat().st_size - 64))

    def test_grows(self):
        self.assert_refused(self.weights, lambda p: os.truncate(p, p.stat().st_size + 1))

    def test_is_written_to(self):
        def overwrite(path):
            with open(path, "r+b") as f:
                f.seek(1000)
                f.write(b"\0\0\0\0")
        self.assert_refused(self.one, overwrite)
        self.assert_refused(self.weights, overwrite, "--level", "O0")

    def test_replaced_by_a_rename_is_no_change(self):
        done = self.compiler.run(self.two, self.folder / "expected.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)

        def replace(path):
            fresh = path.with_suffix(".fresh")
            fresh.write_bytes(bytes(path.stat().st_size))
            fresh.rename(path)
        done = self.rules_and_then(self.weights, replace)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.out.read_bytes(), (self.folder / "expected.onnx").read_bytes())

    def test_shrinks_at_any_moment(self):
        expected = self.folder / "expected.onnx"
        start = time.perf_counter()
        self.assertEqual(self.compiler.run(self.two, expected).returncode, 0)
        whole = time.perf_counter() - start
        original, rng, refused = self.weights.read_bytes(), random.Random(5), 0
        for turn in range(40 if FULL else 10):
            self.weights.write_bytes(original)
            run = subprocess.Popen([self.compiler.program, str(DEFAULT_RULES), str(self.two), "-o", str(self.out)],
                                   stderr=subprocess.PIPE, text=True)
            time.sleep(rng.uniform(0, 1) * whole)
            os.truncate(self.weights, rng.randrange(len(original)))
            said = run.communicate(timeout=120)[1]
            self.assertIn(run.returncode, (0, 1), f"turn {turn}: {said}")
            if run.returncode == 0:
                self.assertEqual(self.out.read_bytes(), expected.read_bytes(), f"turn {turn}")
                self.out.unlink()
                continue
            refused += 1
            self.assertRegex(said, r"error\[AMPC10(10|16)\]", f"turn {turn}")
            self.assertEqual(list(self.out_folder.iterdir()), [], f"turn {turn}: {said}")
        self.assertGreater(refused, 0, "no file was made shorter in time")

    # ---- disks that fail

    def test_disk_that_cannot_be_read(self):
        if self.read_error is None:
            self.skipTest("no library that makes reading fail")
        for path, source in ((self.one, self.one), (self.weights, self.two)):
            for more in ([], ["--level", "O0"], ["--external-data"], ["--level", "O0", "--external-data"]):
                with self.subTest(path=path.name, more=more):
                    done = subprocess.run([self.compiler.program, DEFAULT_RULES, source, "-o", self.out, *more],
                                          capture_output=True, text=True,
                                          env={**os.environ, "NO_COLOR": "1", "LD_PRELOAD": str(self.read_error),
                                               "READ_ERROR": str(path.resolve())})
                    self.assert_error(done, path, "AMPC1001")
                    self.assertEqual(list(self.out_folder.iterdir()), [])

    def write_a_pair(self):
        done = self.compiler.run(self.one, self.out, more=["--external-data"])
        self.assertEqual(done.returncode, 0, done.stderr)
        return {p: p.read_bytes() for p in self.out_folder.iterdir()}

    def test_file_size_limit(self):
        """With the signal as it is by default, which would end the process; an older pair stays."""
        before = self.write_a_pair()
        for more in ([], ["--external-data"], ["--level", "O0"]):
            with self.subTest(more=more):
                done = subprocess.run([self.compiler.program, DEFAULT_RULES, self.one, "-o", self.out, *more],
                                      capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"},
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
                self.assert_error_of_output(done)
                self.assertEqual({p: p.read_bytes() for p in self.out_folder.iterdir()}, before)

    def assert_error_of_output(self, done):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("error[AMPC2001]", done.stderr)
        self.assertIn(str(self.out), done.stderr)

    def test_full_disk(self):
        """A tmpfs too small for the pair, in a mount namespace of its own."""
        script = ('mount -t tmpfs -o size=3m none "$1" || exit 77; "$2" "$3" "$4" -o "$1/result.onnx" --external-data; '
                  'rc=$?; ls -A "$1"; exit $rc')
        if shutil.which("unshare") is None:
            self.skipTest("there is no unshare here")
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
        done = subprocess.run([*unshare, "sh", "-c", script, "sh", self.out_folder, self.compiler.program, DEFAULT_RULES,
                               self.one], capture_output=True, text=True)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest(f"no tmpfs can be mounted here: {done.stderr.strip()}")
        self.assert_error_of_output(done)
        self.assertEqual(done.stdout, "", "what `ls` shows: nothing")

    # ---- runs that are killed

    def test_the_next_run_removes_what_a_killed_one_left(self):
        start = time.perf_counter()
        self.write_a_pair()
        whole = time.perf_counter() - start
        left = 0
        for turn in range(100):
            run = subprocess.Popen([self.compiler.program, DEFAULT_RULES, self.one, "-o", self.out, "--external-data"],
                                   stderr=subprocess.DEVNULL)
            time.sleep((0.3 + 0.7 * (turn % 10) / 10) * whole)
            run.kill()
            run.wait()
            left = len(list(self.out_folder.glob(".*.tmp")))
            if left:
                break
        self.assertGreater(left, 0, "no run was killed in time")
        self.write_a_pair()
        self.assertEqual(sorted(p.name for p in self.out_folder.iterdir()), ["result.onnx", "result.onnx.data"])

    def test_data_that_a_model_still_needs_stays(self):
        """A run that was killed while it replaced a pair: the model names its data by the temporary name."""
        self.write_a_pair()
        data = self.out_folder / "result.onnx.data"
        needed = self.out_folder / ".result.onnx.data.1a-00112233aabbccdd.tmp"
        other = self.out_folder / ".result.onnx.data.1b-00112233aabbccdd.tmp"
        whose = self.out_folder / ".other.onnx.data.1b-00112233aabbccdd.tmp"
        data.rename(needed)
        for file in (other, whose):
            file.write_bytes(b"left behind")
        between = onnx.load(self.out, load_external_data=False)
        for entry in between.graph.initializer[0].external_data:
            if entry.key == "location":
                entry.value = needed.name
        onnx.save(between, self.out)
        # A run that fails must leave it.
        os.truncate(self.weights, self.weights.stat().st_size - 1)
        self.assertEqual(self.compiler.run(self.two, self.out, more=["--external-data"]).returncode, 1)
        self.assertTrue(needed.exists())
        done = subprocess.run([self.compiler.program, DEFAULT_RULES, self.one, "-o", self.out, "--external-data"],
                              capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
        self.assert_error_of_output(done)
        self.assertTrue(needed.exists())
        self.assertFalse(other.exists())
        self.write_a_pair()
        self.assertEqual(sorted(p.name for p in self.out_folder.iterdir()),
                         [whose.name, "result.onnx", "result.onnx.data"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True, type=Path)
    parser.add_argument("--read-error", type=Path, help="a library that makes reading one file fail")
    args, more = parser.parse_known_args()
    Disturbed.compiler = Compiler(args.ampc)
    Disturbed.read_error = args.read_error
    unittest.main(argv=[sys.argv[0], *more])


if __name__ == "__main__":
    main()
