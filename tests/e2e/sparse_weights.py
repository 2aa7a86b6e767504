#!/usr/bin/env python3
"""Sparse initializers: cast where every reader wants low, their indices left; cast at use where some do not.

    sparse_weights.py --ampc PATH

onnx types a sparse initializer as a sparse tensor and refuses it as an operand of MatMul; runtimes read it as the dense tensor
that it stands for. So no golden can hold one: here onnxruntime judges.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from compiler import Compiler, add_arguments

INDICES = [0, 5, 10, 15]
X = np.arange(16, dtype=np.float32).reshape(4, 4) / 16


def model(nodes, values):
    elements = helper.make_tensor("w", TensorProto.FLOAT, [len(values)], values)
    where = helper.make_tensor("w_at", TensorProto.INT64, [len(values)], INDICES[:len(values)])
    graph = helper.make_graph(
        nodes, "sparse", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 4])],
        sparse_initializer=[helper.make_sparse_tensor(elements, where, [4, 4])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def computed(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": X})[0]


PRODUCT = [helper.make_node("MatMul", ["x", "w"], ["y"])]
SHARED = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Exp", ["w"], ["e"]), helper.make_node("Softmax", ["p"], ["s"]),
          helper.make_node("Add", ["s", "e"], ["y"])]
ALLOWED = 'amp 1\nimport "default.amp"\n'

# name, nodes, values, more rules, type of the stored values, operators of the result
CASES = [
    ("read low", PRODUCT, [0.5, 1.5, 2.5, 1e-3], "", TensorProto.FLOAT16, ["Cast", "MatMul", "Cast"]),
    ("beyond fp16", PRODUCT, [0.5, 1e5, 2.5, 1.0], "", TensorProto.FLOAT, ["MatMul"]),
    ("read in both types", SHARED, [0.5, 1.5, 2.5, 0.25], "", TensorProto.FLOAT, ["Cast", "Cast", "MatMul", "Exp", "Cast", "Softmax", "Add"]),
    ("shared both: one copy all the same", SHARED, [0.5, 1.5, 2.5, 0.25], "shared both\n", TensorProto.FLOAT,
     ["Cast", "Cast", "MatMul", "Exp", "Cast", "Softmax", "Add"]),
    ("kept by its values", PRODUCT, [0.5, 1.5, 250.0, 1.0], "weight where absmax > 100 and size == 4 keep fp32\n", TensorProto.FLOAT, ["MatMul"]),
    ("a rule by the whole shape", PRODUCT, [0.5, 1.5, 2.5, 1.0], "deny MatMul where rank(B) == 2 and dim(B, 0) == 4\n",
     TensorProto.FLOAT, ["MatMul"]),
]


def fault(case, compiler, folder):
    name, nodes, values, more, stored, operators = case
    path, rules, out = folder / "in.onnx", folder / "rules.amp", folder / "out.onnx"
    onnx.save(model(nodes, values), path)
    rules.write_text(ALLOWED + more)
    done = compiler.run(path, out, rules=str(rules), more=["-I", str(Path(compiler.rules).parent)])
    if done.returncode:
        return done.stderr
    result = onnx.load(out)
    sparse = result.graph.sparse_initializer[0]
    if sparse.values.data_type != stored:
        return f"its elements are stored as {sparse.values.data_type}, not {stored}"
    if list(onnx.numpy_helper.to_array(sparse.indices)) != INDICES or list(sparse.dims) != [4, 4]:
        return "its indices or its shape have changed"
    if [n.op_type for n in result.graph.node] != operators:
        return f"nodes {[n.op_type for n in result.graph.node]}"
    got, want = computed(out), computed(path)
    return None if np.allclose(got, want, rtol=2e-3, atol=2e-3) else f"{got} for {want}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    compiler = Compiler(args.ampc, args.rules).require_rules()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if wrong := fault(case, compiler, Path(folder)):
                failed = True
                print(f"FAILED: {case[0]}: {wrong}")
    print(f"{len(CASES)} models with a sparse weight")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
