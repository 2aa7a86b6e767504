#!/usr/bin/env python3
"""`ampc build`: a manifest's outputs are those of single runs, what has not changed is not done again, and a Ninja file does
the same.

    build_manifest.py --ampc PROGRAM [--models DIR] [TEST…]

Under AMPC_FULL all real models are built, else some cases.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from compiler import CASES

ARGS = None
NAMES = ("baseline_mlp", "if_outer_scope_init", "external_data", "qdq_opset13", "shared_constant_node", "rope_positions")
MANIFEST = """\
root: in
models: "**/*.onnx"
rules:
  O1: {file: rules/team.amp, options: {level: O1}}
  O2: {file: rules/team.amp, options: {level: O2}}
dtypes: [fp16, bf16]
out: out
"""


class Build(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        (self.folder / "in" / "ü (1) #$").mkdir(parents=True)
        for at, name in enumerate(NAMES):
            shutil.copy(CASES / f"{name}.onnx", self.folder / "in" / ("ü (1) #$" if at % 2 else "") / f"{name}.onnx")
        self.data = self.folder / "in" / "external_data.data"
        shutil.copy(CASES / "external_data.data", self.data)
        rules = self.folder / "rules"
        rules.mkdir()
        (rules / "team.amp").write_text('amp 1\nimport "default.amp"\nimport "reached.amp"\n')
        self.reached = rules / "reached.amp"
        self.reached.write_text("amp 1\n")
        (rules / "unreached.amp").write_text("amp 1\n")
        self.manifest = self.folder / "ampc.yaml"
        self.manifest.write_text(MANIFEST)
        self.count = 4 * len(NAMES)

    def run_ampc(self, *more, fails=False):
        time.sleep(0.015)  # what was written before shall be older than what is written now
        done = subprocess.run([ARGS.ampc, *map(str, more)], cwd=self.folder, capture_output=True, text=True, timeout=600,
                              env={**os.environ, "NO_COLOR": "1"})
        self.assertEqual(done.returncode, 1 if fails else 0, done.stdout + done.stderr)
        return done

    def build(self, *more, fails=False, **expected):
        done = self.run_ampc("build", *more, fails=fails)
        last = done.stdout.splitlines()[-1]
        self.assertTrue(last.startswith("done:"), done.stdout)
        got = {part.split(" ", 1)[1]: int(part.split(" ", 1)[0]) for part in last[len("done:"):].strip().split(", ")}
        if expected:
            want = {"built": 0, "unchanged": 0, "skipped": 0, "failed": 0, "not tried": 0, **expected}
            self.assertEqual(got, want, done.stdout + done.stderr)
        time.sleep(0.015)
        return done

    def outputs(self, folder="out"):
        base = self.folder / folder
        return {str(p.relative_to(base)): p.read_bytes() for p in base.rglob("*.onnx") if ".ampc" not in p.parts}

    def test_outputs_are_those_of_single_runs(self):
        self.build("-j2", built=self.count)
        made = self.outputs()
        self.assertEqual(len(made), self.count)
        for name, data in made.items():
            dtype, level, model = name.split("/", 2)
            self.run_ampc("rules/team.amp", f"in/{model}", "--dtype", dtype, "--level", level, "-o", "single.onnx", "-q")
            self.assertEqual(data, (self.folder / "single.onnx").read_bytes(), name)
            record = json.loads((self.folder / "out" / ".ampc" / f"{name}.json").read_text())
            self.assertEqual(record["outputs"][0]["path"], f"out/{name}")
            self.assertTrue(record["rules_hash"] and record["key"] and record["tool"].startswith("ampc "))
        shutil.rmtree(self.folder / "out")
        self.build("-j1", "--shuffle", "--seed", "7", built=self.count)
        self.assertEqual(self.outputs(), made)

    def test_what_is_done_again(self):
        self.build(built=self.count)
        first = self.outputs()
        self.build(unchanged=self.count)
        (self.folder / "rules" / "unreached.amp").write_text("amp 1\ndeny MatMul\n")
        (self.folder / "in" / "unrelated.txt").write_text("x")
        self.build(unchanged=self.count)
        for path in [*(self.folder / "in").rglob("*.onnx"), self.reached, self.data, *(self.folder / "out").rglob("*.onnx")]:
            path.touch()
        self.build(unchanged=self.count)  # times alone are no work
        self.reached.write_text('amp 1\nnode "*" keep fp32\n')
        self.assertIn("would do", self.run_ampc("build", "--dry-run").stdout)
        self.assertEqual(self.outputs(), first)
        self.build(built=self.count)
        self.reached.write_text("amp 1\n")
        self.build(built=self.count)
        self.assertEqual(self.outputs(), first)
        data = bytearray(self.data.read_bytes())
        data[3] ^= 0x80
        self.data.write_bytes(data)
        self.build(built=4, unchanged=self.count - 4)
        gone = self.folder / "out/fp16/O1/baseline_mlp.onnx"
        gone.unlink()
        self.build(built=1, unchanged=self.count - 1)
        gone.write_bytes(b"by hand")
        self.build(built=1, unchanged=self.count - 1)
        self.assertEqual(gone.read_bytes(), first["fp16/O1/baseline_mlp.onnx"])
        self.manifest.write_text(MANIFEST.replace("level: O2", "level: O2, gray: cut"))
        self.build(built=self.count // 2, unchanged=self.count // 2)
        # A file that an import would find first from now on.
        (self.folder / "rules" / "default.amp").write_text("amp 1\n")
        self.assertIn("imports may find other files", self.run_ampc("build", "-n").stdout)

    def test_one_that_fails(self):
        broken = self.folder / "in" / "broken.onnx"
        broken.write_bytes(b"\x00 no model")
        done = self.build(fails=True, built=self.count, failed=4)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 4, done.stderr)
        self.assertTrue(all(line.startswith("failed ") and "broken.onnx" in line for line in lines), done.stderr)
        self.build(fails=True, unchanged=self.count, failed=4)  # tried again
        self.assertIn("not tried", self.build("--no-keep-going", "-j1", fails=True, unchanged=self.count, failed=1,
                                              **{"not tried": 3}).stdout)
        shutil.copy(CASES / "baseline_mlp.onnx", broken)
        self.build(built=4, unchanged=self.count)

    def test_skipped_and_left_over(self):
        self.build(built=self.count)
        self.manifest.write_text(MANIFEST + "skip_if:\n  - {operator: If, dtype: bf16, reason: no kernel}\n"
                                 "overrides:\n  - {models: external_data.onnx, dtypes: fp16}\n"
                                 "  - {models: baseline_mlp.onnx, skip: retired}\n")
        # bf16 of `If` is skipped twice, the retired model four times; the options of others are as they were but for bf16.
        done = self.run_ampc("build")
        self.assertIn("if_outer_scope_init.onnx bf16 O1 (it has If: no kernel)", done.stdout)
        self.assertIn("baseline_mlp.onnx fp16 O1 (retired)", done.stdout)
        self.assertEqual(done.stdout.count("left over"), 2 + 4 + 2, done.stdout)
        self.assertEqual(len(self.outputs()), self.count)
        again = self.build("-v", built=0, unchanged=self.count - 8, skipped=6)
        self.assertIn("unchanged", again.stdout)
        (self.folder / "out/fp16/O1/baseline_mlp.onnx").write_bytes(b"by hand")
        done = self.build("--clean", unchanged=self.count - 8, skipped=6)
        self.assertEqual(done.stdout.count("removed"), 7, done.stdout)
        self.assertEqual(len(self.outputs()), self.count - 7)

    def test_killed_and_resumed(self):
        self.build(built=self.count)
        whole = self.outputs()
        shutil.rmtree(self.folder / "out")
        for number, delay in ((signal.SIGKILL, 0.03), (signal.SIGTERM, 0.06), (signal.SIGKILL, 0.1)):
            process = subprocess.Popen([ARGS.ampc, "build", "-j1"], cwd=self.folder, stdout=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(number)
            process.wait()
        self.build()
        self.assertEqual(self.outputs(), whole)
        self.build(unchanged=self.count)

    def test_two_at_once(self):
        both = [subprocess.Popen([ARGS.ampc, "build"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True) for _ in range(2)]
        said = [p.communicate()[0] for p in both]
        self.assertEqual([p.returncode for p in both], [0, 0])
        self.assertEqual(sum(f"{self.count} built" in s for s in said), 1, said)
        self.build(unchanged=self.count)

    def test_ninja_does_the_same(self):
        if not shutil.which("ninja"):
            self.skipTest("ninja is not installed")
        self.build(built=self.count)
        made = self.outputs()
        shutil.rmtree(self.folder / "out")
        (self.folder / "sub").mkdir()
        for where in (".", "sub"):
            self.run_ampc("build", "--ninja", f"{where}/build.ninja")
            ninja = ["ninja", "-C", str(self.folder / where)]
            done = subprocess.run(ninja, capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(self.outputs(), made)
            self.assertIn("no work to do", subprocess.run(ninja, capture_output=True, text=True).stdout)
            time.sleep(0.015)
            self.reached.write_text("amp 1\n# x\n")
            done = subprocess.run(ninja, capture_output=True, text=True).stdout
            self.assertIn(f"[{self.count}/{self.count}]", done)
            self.assertIn("no work to do", subprocess.run(ninja, capture_output=True, text=True).stdout)
            shutil.rmtree(self.folder / "out")

    # ---- memory --------------------------------------------------------------------------------------------------------

    def large_models(self, count, mebibytes):
        """Models of one weight each, whose file is so large; zeros take no room on the disk."""
        shutil.rmtree(self.folder / "in")
        (self.folder / "in").mkdir()
        rows = mebibytes * 256
        for i in range(count):
            weight = helper.make_tensor("w", TensorProto.FLOAT, [rows, 1024], bytes(rows * 4096), raw=True)
            graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], f"g{i}",
                                      [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, rows])],
                                      [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1024])], [weight])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
                      self.folder / "in" / f"{i}.onnx")
        self.manifest.write_text('root: in\nmodels: "*.onnx"\nrules: rules/team.amp\nout: out\n')

    def most_at_a_time(self, *more):
        """How many models the build had mapped at most, as often as one can look."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        build = subprocess.Popen([ARGS.ampc, "build", *map(str, more)], cwd=self.folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        most, looks = 0, 0
        while build.poll() is None:
            try:
                maps = Path(f"/proc/{build.pid}/maps").read_text()
            except OSError:
                break
            most = max(most, len({line.split()[-1] for line in maps.splitlines() if "/in/" in line and line.endswith(".onnx")}))
            looks += 1
        said = build.communicate()[0]
        self.assertEqual(build.returncode, 0, said)
        self.assertGreater(looks, 10)
        return most, said

    def test_memory_bounds_what_runs_at_a_time(self):
        self.large_models(4, 48)  # each counts for 64 MiB more
        one, said = self.most_at_a_time("-j4", "--memory", "200M")
        self.assertIn("4 built", said)
        self.assertEqual(one, 1)
        made = self.outputs()
        # One that is larger than all of it runs nevertheless, alone.
        alone, said = self.most_at_a_time("-j4", "--memory", "1M")
        self.assertIn("4 built", said)
        self.assertEqual(alone, 1)
        self.assertEqual(self.outputs(), made)
        # With room for all of them, more are seen; that takes a machine that gives the threads their turns.
        for _ in range(5):
            most, said = self.most_at_a_time("-j4", "--memory", "1G")
            self.assertEqual(self.outputs(), made)
            if most > 1:
                break
        if len(os.sched_getaffinity(0)) > 1:
            self.assertGreater(most, 1)
        two, said = self.most_at_a_time("-j4", "--memory", "224M")
        self.assertLessEqual(two, 2)

    def test_wrong_sizes(self):
        for size, says in (("much", "'much' is no size; write a number of bytes, or one with K, M, G or T behind it"),
                           ("-1", "'-1' is no size"), ("0", "'0' is too little; write a number of bytes"),
                           ("99999999999T", "is more bytes than can be counted; write a smaller size")):
            done = subprocess.run([ARGS.ampc, "build", f"--memory={size}"], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"ampc build: --memory: {says}" if says[0] == "'" else says, done.stderr)
            self.assertFalse((self.folder / "out").exists())

    # ---- many outputs --------------------------------------------------------------------------------------------------

    def test_a_second_run_over_many_outputs(self):
        """By the clock of a machine that may do other work too: the best of a few runs, beside a look at nothing."""
        models = sorted(CASES.glob("*.onnx"))
        shutil.rmtree(self.folder / "in")
        (self.folder / "in").mkdir()
        for path in [*models, *CASES.glob("*.data")]:
            shutil.copy(path, self.folder / "in")
        first = time.monotonic()
        self.run_ampc("build")
        first = time.monotonic() - first
        count = len(self.outputs())
        self.assertGreater(count, 100)
        times, stamps = [], None
        for _ in range(5):
            begin = time.monotonic()
            done = subprocess.run([ARGS.ampc, "build"], cwd=self.folder, capture_output=True, text=True)
            times.append(time.monotonic() - begin)
            self.assertEqual(done.stdout, f"done:      0 built, {count} unchanged, 0 skipped, 0 failed, 0 not tried\n")
            # The second run looks once more at what was written within a tick of the clock before its record was.
            now = {p: p.stat().st_mtime_ns for p in (self.folder / "out").rglob("*") if p.is_file()}
            self.assertEqual(now, stamps or now)
            stamps = now
        print(f"{count} outputs: {first:.2f} s, then {times[0]:.3f} s, then {min(times):.3f} s: "
              f"{min(times) / count * 1e5:.0f} ms per 100 outputs", flush=True)
        # A build with sanitizers, or an emulated machine, is slower in all that it does.
        self.assertLess(min(times) / count * 100, max(0.2, first / count * 100 / 5))

    def test_a_manifest_as_some_editors_write_it(self):
        """A byte order mark, lines that end as on Windows, anchors."""
        text = MANIFEST.replace("dtypes: [fp16, bf16]", "dtypes: &types [fp16, bf16]\noverrides: [{models: '*.onnx', dtypes: *types}]")
        self.manifest.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        self.build(built=self.count)

    def test_wrong_manifests(self):
        good = "models: '*.onnx'\nroot: in\nrules: rules/team.amp\nout: out\n"
        for text, places in ((good + "dtype: [fp16]\n", ["ampc.yaml:5:1: error[AMPC2020]", "did you mean 'dtypes'?"]),
                             (good + "out: b\n", ["ampc.yaml:5:1:", "a second time", "ampc.yaml:4:1: the first one"]),
                             (good + "options:\n  io: lwo\n", ["ampc.yaml:6:7:", "'low'"]),
                             (good + "options: {external_data: yes}\n", ["ampc.yaml:5:26:", "true or false"]),
                             (good + "options: {opset: 010}\n", ["ampc.yaml:5:18:", "decimal"]),
                             (good + "exclude: ../x\n", ["ampc.yaml:5:10:", "leads out"]),
                             (good + "overrides:\n  - {models: nine.onnx, rules: tean}\n", ["ampc.yaml:6:32:", "'team'"]),
                             (good + "overrides:\n  - {models: nine.onnx}\n", ["ampc.yaml:6:14:", "no model matches"]),
                             (good.replace("team", "tam"), ["ampc.yaml:3:8:", "no rule file 'rules/tam.amp'"]),
                             (good + "skip_if: [{dtype: fp16}]\n", ["ampc.yaml:5:11:", "no operator"]),
                             (good + "---\nx: 1\n", ["a second document begins here"]),
                             (good + "x: [\n", ["ampc.yaml:5:4:", "no YAML"]),
                             ("", ["empty"]), ("models: a\n", ["says no rules", "says no out"])):
            with self.subTest(text=text):
                self.manifest.write_text(text)
                said = self.run_ampc("build", fails=True).stderr
                for place in places:
                    self.assertIn(place, said)
                self.assertFalse((self.folder / "out").exists())

    def test_real_models(self):
        if not os.environ.get("AMPC_FULL") or ARGS.models is None:
            self.skipTest("for the full suite")
        shutil.rmtree(self.folder / "in")
        (self.folder / "in").symlink_to(ARGS.models.resolve())
        self.build()
        for name, data in self.outputs().items():
            dtype, level, model = name.split("/", 2)
            self.run_ampc("rules/team.amp", f"in/{model}", "--dtype", dtype, "--level", level, "-o", "single.onnx", "-q")
            self.assertEqual(data, (self.folder / "single.onnx").read_bytes(), name)


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", type=lambda p: Path(p).resolve(), required=True)
    parser.add_argument("--models", type=Path)
    ARGS, rest = parser.parse_known_args()
    return not unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
