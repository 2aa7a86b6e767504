#!/usr/bin/env python3
"""A chain of many small operators, which shows what a compiler costs per node.

    make_chain.py OUT.onnx NODES

Five operators go round: MatMul and Add and Mul with small weights of their own, Tanh, and Relu or, one time in ten,
Softmax. The same file for the same number.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 8


def chain(count):
    rng = np.random.default_rng(17)

    def noise(*shape):
        return 0.01 * rng.standard_normal(shape, dtype=np.float32)

    forms = [("MatMul", lambda: np.eye(WIDTH, dtype=np.float32) + noise(WIDTH, WIDTH)), ("Add", lambda: noise(WIDTH)),
             ("Mul", lambda: 1 + noise(WIDTH)), ("Tanh", None), ("Relu", None)]
    nodes, weights, last = [], [], "x"
    for i in range(count):
        op, weight = forms[i % len(forms)]
        operands = [last]
        if weight:
            weights.append(numpy_helper.from_array(weight(), f"weight_{i}"))
            operands.append(f"weight_{i}")
        if op == "Relu" and i % 50 == 49:
            op = "Softmax"
        last = "y" if i == count - 1 else f"value_{i}"
        nodes.append(helper.make_node(op, operands, [last], name=f"node_{i}"))
    graph = helper.make_graph(nodes, f"chain_{count}", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", WIDTH])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9, producer_name="make_chain")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make_chain.py OUT.onnx NODES")
    onnx.save(chain(int(sys.argv[2])), sys.argv[1])
