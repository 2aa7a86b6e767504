"""What a model computes when its precision is left aside: the same before and after a compilation.

Casts between floating-point types are read through, on both sides, and values are known by where they come from, not by
their names. What is left must be the same nodes, on the same values, with the same attributes and weights.
"""

import re

import numpy as np
import onnx
import onnx.inliner
from onnx import AttributeProto, TensorProto, numpy_helper

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
# They name a type, which is what a compilation may change.
TYPES = {"dtype", "output_datatype", "output_dtype"}
COPY = re.compile(r"(.*)\.cast_(?:fp16|bf16)(?:_\d+)?$", re.DOTALL)
# Between these every low type holds a number within a hundredth.
LEAST, MOST = 1e-3, 6e4


class Differs(Exception):
    """Two models do not compute the same."""


def require_equal(before, after):
    """Raises Differs at the first place where `after` computes something else than `before`."""
    before, after = (onnx.inliner.inline_local_functions(m) if m.functions else m for m in (before, after))
    _graphs("main", before.graph, {}, after.graph, {})


def _is_cast(node):
    return node.op_type == "Cast" and node.domain in ("", "ai.onnx") and node.attribute[0].i in FLOATS


def _graphs(path, before, outer_before, after, outer_after):
    """`outer_…`: the origins of the names that are visible from outside."""
    envs = dict(outer_before), dict(outer_after)
    weights = {t.name: t for t in before.initializer}
    known = {*weights, *(s.values.name for s in before.sparse_initializer)}
    for env, graph in zip(envs, (before, after)):
        for at, value in enumerate(graph.input):
            env[value.name] = (path, "input", at)
        for tensor in [*graph.initializer, *(s.values for s in graph.sparse_initializer)]:
            copy = COPY.match(tensor.name)
            # A weight in two types is there twice, where the rules ask for it.
            own = copy.group(1) if copy and tensor.name not in known and copy.group(1) in weights else tensor.name
            env.setdefault(tensor.name, (path, "weight", own))
            if own in weights:
                _tensors(f"{path}: weight '{own}'", weights[own], tensor)
    lists = []
    for env, graph in zip(envs, (before, after)):
        lists.append([])
        for node in graph.node:
            if _is_cast(node):
                env[node.output[0]] = env[node.input[0]]
                continue
            at = len(lists[-1])
            # A body sees what is made before it, so the origins of operands are looked up here.
            lists[-1].append((node, [env[name] if name else None for name in node.input], dict(env) if _bodies(node) else None))
            for slot, name in enumerate(node.output):
                if name:
                    env[name] = (path, at, slot)
    if len(lists[0]) != len(lists[1]):
        raise Differs(f"{path}: {len(lists[1])} nodes instead of {len(lists[0])}")
    for at, (one, other) in enumerate(zip(*lists)):
        _nodes(f"{path}/{at} {one[0].op_type}", one, other)
    ends = [[env[v.name] for v in graph.output] for env, graph in zip(envs, (before, after))]
    if ends[0] != ends[1]:
        raise Differs(f"{path}: gives out {ends[1]} instead of {ends[0]}")


def _bodies(node):
    return [a for a in node.attribute if a.type == AttributeProto.GRAPH]


def _nodes(place, before, after):
    (one, operands, env), (other, others, other_env) = before, after
    if (one.op_type, one.domain) != (other.op_type, other.domain) or len(one.output) != len(other.output):
        raise Differs(f"{place}: is {other.op_type}")
    if operands != others:
        raise Differs(f"{place}: reads {others} instead of {operands}")
    if one.op_type == "Constant":
        return _tensors(place, *(_constant(n) for n in (one, other)))
    attributes = [{a.name: a for a in n.attribute} for n in (one, other)]
    for name in sorted(set(attributes[0]) | set(attributes[1])):
        a, b = attributes[0].get(name), attributes[1].get(name)
        if name in TYPES:
            continue
        if a is None and b.type == AttributeProto.TENSOR and not numpy_helper.to_array(b.t).any():
            continue  # an implied zero that is written out in another type
        if a is None or b is None:
            raise Differs(f"{place}: attribute '{name}' is there once")
        if a.type == AttributeProto.GRAPH:
            _graphs(f"{place}.{name}", a.g, env, b.g, other_env)
        elif a.type == AttributeProto.TENSOR:
            _tensors(f"{place}.{name}", a.t, b.t)
        elif a != b:
            raise Differs(f"{place}: attribute '{name}' changes")
    return None


def _constant(node):
    attribute = node.attribute[0]
    if attribute.name == "value":
        return attribute.t
    if attribute.name == "sparse_value":
        return attribute.sparse_tensor.values
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.name in ("value_string", "value_strings"):
        values = [value] if attribute.name == "value_string" else list(value)
        return onnx.helper.make_tensor("", TensorProto.STRING, [len(values)], values)
    return numpy_helper.from_array(np.asarray(value, np.float32 if "float" in attribute.name else np.int64))


def _tensors(place, before, after):
    if list(before.dims) != list(after.dims):
        raise Differs(f"{place}: {list(after.dims)} instead of {list(before.dims)}")
    if before.data_type not in FLOATS:
        if before.data_type != after.data_type or before.SerializeToString() != after.SerializeToString():
            raise Differs(f"{place}: changes")
        return
    one, other = (numpy_helper.to_array(t).astype(np.float64) for t in (before, after))
    size = np.abs(one)
    held = (size > LEAST) & (size < MOST)
    if not np.allclose(one[held], other[held], rtol=1e-2, atol=0):
        raise Differs(f"{place}: other numbers")
