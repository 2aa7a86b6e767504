#!/usr/bin/env python3
"""Holds what ampc made of a model's weights against numpy's cast, one weight at a time, and loads it in onnxruntime.

    check_cast.py MODEL RESULT [--load]
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

TYPES = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.INT64: np.int64}


def payload(tensor, folder, maps):
    """Its elements, flat; those of a data file straight from there."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return np.frombuffer(tensor.raw_data, TYPES[tensor.data_type])
    where = {e.key: e.value for e in tensor.external_data}
    path = folder / where["location"]
    if path not in maps:
        maps[path] = np.memmap(path, np.uint8, "r")
    begin = int(where["offset"])
    return maps[path][begin : begin + int(where["length"])].view(TYPES[tensor.data_type])


def compare(source, result):
    """How many weights are cast, how many elements they have, and which differ."""
    before = {t.name: t for t in onnx.load(source, load_external_data=False).graph.initializer}
    maps, cast, elements, wrong = {}, 0, 0, []
    for tensor in onnx.load(result, load_external_data=False).graph.initializer:
        want = payload(before[tensor.name], source.parent, maps)
        got = payload(tensor, result.parent, maps)
        if tensor.data_type == TensorProto.FLOAT16:
            cast += 1
            elements += got.size
            want = want.astype(np.float16)
        if tensor.data_type != TYPES_BACK[want.dtype.type] or want.tobytes() != got.tobytes():
            wrong.append(tensor.name)
    return cast, elements, wrong


TYPES_BACK = {v: k for k, v in TYPES.items()}


def load(result):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(result, options, providers=["CPUExecutionProvider"])
    return [f"{o.name}: {o.type}" for o in session.get_outputs()]


def main():
    source, result, *more = sys.argv[1:]
    cast, elements, wrong = compare(Path(source), Path(result))
    if wrong or not cast:
        sys.exit(f"{len(wrong)} weights are not what numpy makes of them: {', '.join(wrong[:5])}" if wrong else "no weight is cast")
    print(f"{cast} weights of {elements} elements are cast as numpy casts them", end="")
    print(f"; onnxruntime loads it ({', '.join(load(result))})" if "--load" in more else "")


if __name__ == "__main__":
    main()
