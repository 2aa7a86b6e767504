#!/usr/bin/env python3
"""A transformer as exporters write it, with seeded weights, of any size.

    make_transformer.py OUT.onnx --layers 4 --width 256 [--vocabulary 1000] [--external]

Pre-norm blocks: LayerNormalization, four projections, scaled softmax attention, Gelu. With --external all weights go to
OUT.onnx.data, each on a page of its own; they are drawn and written one at a time, so that any size can be made. The same
files for the same arguments.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PAGE = 4096
HEAD = 64


class Weights:
    """Initializers, in the message or in a data file."""

    def __init__(self, data):
        self.rng = np.random.default_rng(2026)
        self.data = data
        self.tensors = []

    def add(self, name, array):
        if self.data is None or array.nbytes < 1024:
            self.tensors.append(numpy_helper.from_array(array, name))
            return name
        self.data.seek(-self.data.tell() % PAGE, 1)
        tensor = TensorProto(name=name, dims=array.shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", Path(self.data.name).name), ("offset", self.data.tell()), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        self.data.write(array.data)
        self.tensors.append(tensor)
        return name

    def noise(self, name, *shape, scale=0.02, mean=0.0):
        array = self.rng.standard_normal(shape, dtype=np.float32)
        array *= np.float32(scale)
        if mean:
            array += np.float32(mean)
        return self.add(name, array)


def block(name, x, width, weights, nodes):
    def node(op, inputs, out, **attributes):
        nodes.append(helper.make_node(op, inputs, [f"{name}/{out}"], name=f"{name}/{out}_{op}", **attributes))
        return f"{name}/{out}"

    def dense(inputs, rows, columns, out):
        product = node("MatMul", [inputs, weights.noise(f"{name}.{out}.weight", rows, columns)], f"{out}/product")
        return node("Add", [product, weights.noise(f"{name}.{out}.bias", columns)], out)

    def norm(inputs, out):
        scale, bias = weights.noise(f"{name}.{out}.weight", width, mean=1.0), weights.noise(f"{name}.{out}.bias", width)
        return node("LayerNormalization", [inputs, scale, bias], out, epsilon=1e-5)

    def heads(inputs, out, perm):
        return node("Transpose", [node("Reshape", [inputs, "split"], f"{out}/split")], out, perm=perm)

    normed = norm(x, "norm1")
    query = heads(dense(normed, width, width, "query"), "query/heads", [0, 2, 1, 3])
    key = heads(dense(normed, width, width, "key"), "key/heads", [0, 2, 3, 1])
    value = heads(dense(normed, width, width, "value"), "value/heads", [0, 2, 1, 3])
    scores = node("Mul", [node("MatMul", [query, key], "scores/product"), "scale"], "scores")
    mixed = node("MatMul", [node("Softmax", [scores], "attention", axis=-1), value], "mixed")
    joined = node("Reshape", [node("Transpose", [mixed], "mixed/turned", perm=[0, 2, 1, 3]), "join"], "mixed/joined")
    x = node("Add", [x, dense(joined, width, width, "out")], "residual1")
    hidden = node("Gelu", [dense(norm(x, "norm2"), width, 4 * width, "up")], "gelu")
    return node("Add", [x, dense(hidden, 4 * width, width, "down")], "residual2")


def transformer(layers, width, vocabulary, data):
    weights, nodes = Weights(data), []
    weights.add("split", np.array([0, 0, -1, HEAD], dtype=np.int64))
    weights.add("join", np.array([0, 0, width], dtype=np.int64))
    weights.add("scale", np.array(HEAD**-0.5, dtype=np.float32))
    x = "embedded"
    nodes.append(helper.make_node("Gather", [weights.noise("embedding.weight", vocabulary, width), "ids"], [x], name="embed"))
    for i in range(layers):
        x = block(f"layers.{i}", x, width, weights, nodes)
    nodes.append(helper.make_node("Identity", [x], ["y"], name="out"))
    graph = helper.make_graph(nodes, "transformer", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "length", width])], weights.tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9, producer_name="make_transformer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=1000)
    parser.add_argument("--external", action="store_true")
    args = parser.parse_args()
    if args.external:
        with open(f"{args.out}.data", "wb") as data:
            model = transformer(args.layers, args.width, args.vocabulary, data)
    else:
        model = transformer(args.layers, args.width, args.vocabulary, None)
    onnx.save(model, args.out)


if __name__ == "__main__":
    main()
