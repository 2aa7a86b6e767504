"""What can be read off a model without running it: its casts, its weights' bytes, its interface."""

import collections

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

ELEMENTS = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
LOW = tuple(ELEMENTS.values())
FLOAT_BYTES = {TensorProto.FLOAT: 4, TensorProto.FLOAT16: 2, TensorProto.BFLOAT16: 2}

Casts = collections.namedtuple("Casts", "count duplicates round_trips")


def graphs(graph):
    """The graph and every graph nested in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from graphs(attribute.g)
            elif attribute.type == AttributeProto.GRAPHS:
                for nested in attribute.graphs:
                    yield from graphs(nested)


def attribute(node, name):
    return next((a for a in node.attribute if a.name == name), None)


def casts(model):
    """Number of casts; casts that repeat another of the same graph; values that a low-and-back pair goes through. Functions
    count as graphs."""
    count = duplicates = 0
    round_trips = set()
    outputs = {o.name for o in model.graph.output}
    for graph in (g for top in [model.graph, *model.functions] for g in graphs(top)):
        targets = {}  # result of a cast -> its type
        seen = {}  # operand and type -> whether all of these casts make outputs, each of which has a name of its own
        nodes = [(n, attribute(n, "to").i) for n in graph.node if n.op_type == "Cast" and n.domain in ("", "ai.onnx")]
        for node, to in nodes:
            count += 1
            given_out = graph is model.graph and node.output[0] in outputs and seen.get((node.input[0], to), True)
            # The model's own casts to other types are its own affair: a function that is put in place twice has them twice.
            duplicates += to in FLOAT_BYTES and (node.input[0], to) in seen and not given_out
            seen[node.input[0], to] = given_out
            targets[node.output[0]] = to
        round_trips |= {n.input[0] for n, to in nodes if to == TensorProto.FLOAT and targets.get(n.input[0]) in LOW}
    return Casts(count, duplicates, round_trips)


def weight_bytes(model):
    """Bytes of float weights, by type: initializers and Constant nodes of every graph."""
    total = collections.Counter()
    for graph in graphs(model.graph):
        tensors = list(graph.initializer)
        for node in graph.node:
            if node.op_type == "Constant" and attribute(node, "value") is not None:
                tensors.append(attribute(node, "value").t)
        for tensor in tensors:
            if tensor.data_type in FLOAT_BYTES:
                elements = int(np.prod(tensor.dims, dtype=np.int64))
                total[TensorProto.DataType.Name(tensor.data_type)] += FLOAT_BYTES[tensor.data_type] * elements
    return dict(total)


def holds(model, elem):
    """Whether a value of that type is made, given or stored in the model."""
    if any(v.type.tensor_type.elem_type == elem for v in [*model.graph.input, *model.graph.output]):
        return True
    for graph in graphs(model.graph):
        if any(t.data_type == elem for t in graph.initializer):
            return True
        for node in graph.node:
            if any(a.name in ("to", "dtype", "output_dtype", "output_datatype") and a.i == elem or a.t.data_type == elem
                   for a in node.attribute):
                return True
    return False


def interface(model):
    """Names and types of inputs and outputs, in order."""
    def side(values):
        return [(v.name, v.type.SerializeToString(deterministic=True)) for v in values]
    return side(model.graph.input), side(model.graph.output)


def interface_names(model):
    return [v.name for v in model.graph.input], [v.name for v in model.graph.output]


def bodies_share_names(model):
    """Whether a name stands for values of two graphs."""
    names = collections.Counter()
    for graph in graphs(model.graph):
        names.update({o for n in graph.node for o in n.output if o} | {v.name for v in [*graph.input, *graph.initializer]})
    return any(count > 1 for count in names.values())


def infer_strictly(path):
    """onnx's strict inference with data propagation; raises where it finds a clash."""
    model = onnx.load(path)
    # onnx keeps the propagated data of all graphs by name, and stumbles over two of one name ("already exists").
    onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=not bodies_share_names(model))


def differences(before, after):
    """Where two models are not the same, in words: nodes, weights, interface, functions, imports, at every depth."""
    found = []
    if [(o.domain, o.version) for o in before.opset_import] != [(o.domain, o.version) for o in after.opset_import]:
        found.append("opset imports")
    if before.ir_version != after.ir_version:
        found.append("IR version")
    for kind in ("node", "initializer", "sparse_initializer", "input", "output"):
        # Bodies lie in the attributes of their nodes.
        found += _differing(kind, getattr(before.graph, kind), getattr(after.graph, kind))
    found += _differing("function", before.functions, after.functions)
    return found


def _differing(kind, before, after):
    if len(before) != len(after):
        return [f"{len(after)} instead of {len(before)} of {kind}"]
    return [f"{kind} {i} ({getattr(b, 'name', '') or getattr(b, 'op_type', '')})"
            for i, (b, a) in enumerate(zip(before, after)) if b != a and not (kind == "initializer" and _same_tensor(b, a))]


def _same_tensor(before, after):
    """Equal values, wherever the file holds them (external data that came into the file)."""
    head = [(t.name, t.data_type, tuple(t.dims)) for t in (before, after)]
    return head[0] == head[1] and numpy_helper.to_array(before).tobytes() == numpy_helper.to_array(after).tobytes()
