#!/usr/bin/env python3
"""Large weights are measured as they are cast. Where one turns out to be what the rules care for, the result and what is said
are the same as where it was measured before anything was decided.

    rare_weights.py --ampc PATH

A rule that asks for a weight's largest magnitude, and never holds, has all of them measured first.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiler import Compiler, add_arguments

SIZE = 256  # 65536 elements each, of which the first 4096 are always looked at
MEASURED_FIRST = "weight where absmax > 1e38 keep fp32\n"


def weights(changes):
    rng = np.random.default_rng(3)
    arrays = [0.02 * rng.standard_normal((SIZE, SIZE), dtype=np.float32) for _ in range(3)]
    for which, change in changes:
        change(arrays[which].reshape(-1))
    return arrays


def model(arrays, constant):
    nodes, initializers, last = [], [], "x"
    for i, array in enumerate(arrays):
        tensor = numpy_helper.from_array(array, f"w{i}")
        if constant and i == 1:
            nodes.append(helper.make_node("Constant", [], ["w1"], value=tensor))
        else:
            initializers.append(tensor)
        out = "y" if i == len(arrays) - 1 else f"p{i}"
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [out]))
        last = out
    shape = ["n", SIZE]
    graph = helper.make_graph(nodes, "rare", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def put(at, value):
    def change(flat):
        flat[at] = value

    return change


def many_tiny(flat):
    flat[30_000:32_000] = 1e-9


def few_tiny(flat):
    flat[30_000:30_600] = 1e-9


LAST = SIZE * SIZE - 1
# name, what is unlike other weights, more rules, more arguments, the exit code, words that stderr has, words that it has not
CASES = [
    ("ordinary", [], "", [], 0, [], ["warning:"]),
    ("the last element overflows", [(1, put(LAST, 1e5))], "", [], 0, ["'w1' does not fit fp16"], []),
    ("the first element overflows", [(0, put(0, -1e5))], "", [], 0, ["'w0' does not fit fp16"], []),
    ("bf16 holds it", [(1, put(LAST, 1e5))], "", ["--dtype", "bf16"], 0, [], ["warning:"]),
    ("clamped", [(2, put(LAST, 1e5))], "overflow clamp\n", [], 0, ["'w2' does not fit fp16"], []),
    ("infinite", [(2, put(LAST, 1e5))], "overflow inf\n", [], 0, ["become infinite"], []),
    ("an error", [(2, put(LAST, 1e5))], "overflow error\n", [], 1, ["error"], []),
    ("many become zero", [(0, many_tiny)], "", [], 0, ["become zero in fp16"], []),
    ("many become zero, as is meant", [(0, many_tiny)], "underflow flush\n", [], 0, [], ["warning:"]),
    ("some become zero", [(0, few_tiny)], "", ["-v"], 0, ["600 of 65536 elements become zero"], ["warning:"]),
    ("infinities and NaNs stay", [(1, put(LAST, np.inf)), (1, put(LAST - 5, np.nan))], "", [], 0, [], ["warning:"]),
    ("two of three", [(0, many_tiny), (2, put(LAST, 7e4))], "", ["-v"], 0, ["'w2' does not fit fp16", "become zero in fp16"], []),
    ("in a data file", [(1, put(LAST, 1e5))], "", ["--external-data"], 0, ["'w1' does not fit fp16"], []),
    ("denied, and stored low", [(1, put(LAST, 1e5))], "override deny MatMul\n", ["--level", "O2"], 0, [], []),
]


def compiled(compiler, path, folder, rules, arguments):
    """What was said, the exit code and what was written, by name."""
    folder.mkdir()
    (folder / "rules.amp").write_text('amp 1\nimport "default.amp"\n' + rules)
    done = compiler.run(path, folder / "out.onnx", rules=str(folder / "rules.amp"), more=["-I", Path(compiler.rules).parent, *arguments])
    files = {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.name != "rules.amp"}
    return done.stderr.replace(str(folder), "FOLDER"), done.returncode, files


def fault(case, compiler, folder, constant):
    name, changes, rules, arguments, exit_code, has, has_not = case
    arrays = weights(changes)
    path = folder / "in.onnx"
    onnx.save(model(arrays, constant), path)
    said, code, files = compiled(compiler, path, folder / "on the way", rules, arguments)
    first = compiled(compiler, path, folder / "first", rules + MEASURED_FIRST, arguments)
    if code != exit_code:
        return f"exit {code}: {said}"
    if missing := [w for w in has if w not in said] + [w for w in has_not if w in said]:
        return f"{missing}: {said}"
    if (said, code) != first[:2]:
        return f"said otherwise:\n{said}\n{first[0]}"
    if files != first[2]:
        return f"written otherwise: {[n for n in files if files[n] != first[2].get(n)]} of {list(first[2])}"
    if exit_code or arguments:
        return None
    stored = {t.name: t for t in onnx.load(folder / "on the way" / "out.onnx").graph.initializer}
    for i, array in enumerate(arrays):
        if (tensor := stored.get(f"w{i}")) is not None and tensor.data_type == TensorProto.FLOAT16 and "overflow" not in rules:
            with np.errstate(over="ignore"):
                want = array.astype(np.float16)
            if not np.array_equal(numpy_helper.to_array(tensor), want, equal_nan=True):
                return f"w{i} is not what numpy makes of it"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    args = parser.parse_args()
    compiler = Compiler(args.ampc, args.rules).require_rules()
    failed = False
    for case in CASES:
        for constant in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                if wrong := fault(case, compiler, Path(folder), constant):
                    failed = True
                    print(f"FAILED: {case[0]}{', in a Constant' if constant else ''}: {wrong}")
    print(f"{len(CASES)} kinds of weights")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
