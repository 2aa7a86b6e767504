"""Models of one node: an operator at one version of its schema, every float operand in one type.

What is said of operators here makes their nodes valid and their runs short: shapes, the values of integer operands, the
attributes that are required. Which operands are float, and which types they take, is read from onnx's schemas.
"""

import functools

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

OLDEST, NEWEST = 7, min(28, defs.onnx_opset_version())
FLOAT, FLOAT16, BFLOAT16, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT64
TYPE_NAMES = {FLOAT: "tensor(float)", FLOAT16: "tensor(float16)", BFLOAT16: "tensor(bfloat16)", INT64: "tensor(int64)",
              TensorProto.INT32: "tensor(int32)", TensorProto.BOOL: "tensor(bool)", TensorProto.UINT8: "tensor(uint8)",
              TensorProto.INT8: "tensor(int8)"}
OTHER_TYPES = (INT64, TensorProto.UINT8, TensorProto.BOOL, TensorProto.INT32)
Parameter = defs.OpSchema.FormalParameterOption

# The compiler gives these no low type of their own: casts and constants are its own affair, bodies keep their interface.
LEFT = {"Cast", "CastLike", "BitCast", "Constant", "If", "Loop", "Scan", "SequenceMap"}

BASE, MATRIX, IMAGE, SIGNAL = [2, 3, 4], [4, 4], [1, 3, 8, 8], [1, 3, 8]

# Shapes of the operands that have no value below, in order; the last repeats.
SHAPES = {
    "MatMul": [MATRIX], "Gemm": [MATRIX], "Det": [MATRIX], "Trilu": [MATRIX], "EyeLike": [MATRIX], "Einsum": [MATRIX],
    "Multinomial": [MATRIX], "Split": [MATRIX], "Conv": [IMAGE, [3, 3, 3, 3], [3]], "ConvTranspose": [IMAGE, [3, 3, 3, 3], [3]],
    "DeformConv": [IMAGE, [3, 3, 3, 3], [1, 18, 6, 6], [3], [1, 9, 6, 6]], "MaxUnpool": [[1, 3, 4, 4]], "Attention": [[1, 2, 4, 4]] * 3 + [[4, 4], [1, 2, 4, 4]],
    "RotaryEmbedding": [[1, 2, 4, 4], [1, 4, 2]], "LinearAttention": [[1, 4, 4]] * 3 + [[1, 2, 2, 2]], "FlexAttention": [[1, 2, 4, 4]],
    "CausalConvWithState": [SIGNAL, [3, 1, 3], [3], [1, 3, 2]], "DepthToSpace": [[1, 4, 8, 8]], "GridSample": [IMAGE, [1, 8, 8, 2]],
    "RoiAlign": [IMAGE, [2, 4]], "MaxRoiPool": [IMAGE, [2, 5]], "AffineGrid": [[1, 2, 3]], "Col2Im": [[1, 12, 9]],
    "BatchNormalization": [IMAGE, [3]], "InstanceNormalization": [IMAGE, [3]], "GroupNormalization": [IMAGE, [3]],
    "LayerNormalization": [BASE, [4]], "RMSNormalization": [BASE, [4]], "PRelu": [BASE, [4]],
    "LSTM": [[5, 2, 4], [1, 12, 4], [1, 12, 3], [1, 24], [1, 2, 3], [1, 2, 3], [1, 9]],
    "GRU": [[5, 2, 4], [1, 9, 4], [1, 9, 3], [1, 18], [1, 2, 3]], "RNN": [[5, 2, 4], [1, 3, 4], [1, 3, 3], [1, 6], [1, 2, 3]], "Squeeze": [[1, 3, 4]], "Clip": [BASE, []], "Dropout": [BASE, []],
    "QuantizeLinear": [BASE, []], "DequantizeLinear": [[]], "OneHot": [[2]], "Scatter": [BASE],
    "NegativeLogLikelihoodLoss": [MATRIX, [4]], "SoftmaxCrossEntropyLoss": [MATRIX, [4]], "Pad": [BASE, []], "ReverseSequence": [MATRIX],
    "DFT": [[1, 8, 1]], "STFT": [[1, 16, 1], [8]], "TensorScatter": [[1, 2, 4, 4], [1, 2, 1, 4]], "ScatterND": [BASE, [2, 3, 4]],
    "QLinearMatMul": [[]],
}
for _name in ("MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "LRN", "SpaceToDepth",
              "MeanVarianceNormalization", "Resize", "Upsample"):
    SHAPES[_name] = [IMAGE]

# Values of operands, by name; they are initializers.
_ZEROS = np.zeros(BASE, np.int64)
VALUES = {
    "Reshape": {"shape": [4, 3, 2]}, "Expand": {"shape": [2, 3, 4]}, "Tile": {"repeats": [1, 2, 1]},
    "Pad": {"pads": [0, 0, 0, 1, 1, 1], "axes": [0, 1, 2]},
    "Slice": {"starts": [0], "ends": [1], "axes": [0], "steps": [1]}, "Trilu": {"k": 0}, "Split": {"split": [2, 2]},
    "DFT": {"dft_length": 8, "axis": 1}, "RotaryEmbedding": {"position_ids": [[0, 1, 2, 3]]}, "Gather": {"indices": 0},
    "GatherElements": {"indices": _ZEROS}, "GatherND": {"indices": [[0], [1]]}, "Scatter": {"indices": _ZEROS},
    "ScatterElements": {"indices": _ZEROS}, "ScatterND": {"indices": [[0], [1]]}, "Squeeze": {"axes": [0]},
    "Unsqueeze": {"axes": [0]}, "TopK": {"K": [2]}, "OneHot": {"indices": [0, 1, 1], "depth": [2]},
    "Range": {"start": 0, "limit": 4, "delta": 1}, "ConstantOfShape": {"input": [2, 3]}, "CumSum": {"axis": 0},
    "CumProd": {"axis": 0}, "Where": {"condition": np.ones(BASE, bool)}, "Compress": {"condition": [True, False, True]},
    "AffineGrid": {"size": [1, 1, 4, 4]}, "Col2Im": {"image_shape": [4, 4], "block_shape": [2, 2]},
    "Resize": {"scales": [1, 1, 2, 2], "roi": np.zeros([0])}, "Upsample": {"scales": [1, 1, 2, 2]},
    "RoiAlign": {"batch_indices": [0, 0]}, "MaxUnpool": {"I": np.arange(48).reshape(1, 3, 4, 4)},
    "ReverseSequence": {"sequence_lens": [2, 2, 2, 2]}, "CenterCropPad": {"shape": [2, 3, 4]},
    "NegativeLogLikelihoodLoss": {"target": [0, 1, 2, 3]}, "SoftmaxCrossEntropyLoss": {"labels": [0, 1, 2, 3]},
    "STFT": {"frame_step": 4, "frame_length": 8}, "HannWindow": {"size": 8}, "HammingWindow": {"size": 8},
    "BlackmanWindow": {"size": 8}, "TensorScatter": {"write_indices": [0]},
    "MelWeightMatrix": {"num_mel_bins": 4, "dft_length": 64, "sample_rate": 8000, "lower_edge_hertz": 0, "upper_edge_hertz": 2000},
    "DequantizeLinear": {"x": np.ones(BASE), "x_zero_point": 0}, "QuantizeLinear": {"y_zero_point": 0},
    "QLinearMatMul": {"a": np.ones(MATRIX), "b": np.ones(MATRIX), "a_zero_point": 0, "b_zero_point": 0, "y_zero_point": 0},
}

# onnx's own inference fails inside the function that it gives for these.
NOT_INFERRED = {"MeanVarianceNormalization"}

for _name in ("LSTM", "GRU", "RNN"):
    VALUES[_name] = {"sequence_lens": [5, 5]}
for _name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
    VALUES[f"Reduce{_name}"] = {"axes": [1]}

LOW = object()  # in an attribute: the type that the float operands have

ATTRIBUTES = {
    "Concat": {"axis": 0}, "Einsum": {"equation": "ij,jk->ik"}, "MaxPool": {"kernel_shape": [2, 2]},
    "AveragePool": {"kernel_shape": [2, 2]}, "LpPool": {"kernel_shape": [2, 2]}, "MaxUnpool": {"kernel_shape": [2, 2]},
    "MaxRoiPool": {"pooled_shape": [2, 2]}, "DepthToSpace": {"blocksize": 2}, "SpaceToDepth": {"blocksize": 2},
    "GroupNormalization": {"num_groups": 1}, "LRN": {"size": 3}, "Mod": {"fmod": 1}, "LSTM": {"hidden_size": 3},
    "GRU": {"hidden_size": 3}, "RNN": {"hidden_size": 3}, "Split": {"num_outputs": 2}, "Pad": {"pads": [0, 0, 0, 1, 1, 1]},
    "Slice": {"starts": [0], "ends": [1]}, "Squeeze": {"axes": [0]}, "Unsqueeze": {"axes": [0]}, "TopK": {"k": 2},
    "Upsample": {"scales": [1.0, 1.0, 2.0, 2.0]}, "LinearAttention": {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"},
    "EyeLike": {"dtype": LOW}, "RandomNormal": {"dtype": LOW, "shape": [2, 3]}, "RandomUniform": {"dtype": LOW, "shape": [2, 3]},
    "RandomNormalLike": {"dtype": LOW}, "RandomUniformLike": {"dtype": LOW}, "Bernoulli": {"dtype": LOW},
    "HannWindow": {"output_datatype": LOW}, "HammingWindow": {"output_datatype": LOW}, "BlackmanWindow": {"output_datatype": LOW},
    "MelWeightMatrix": {"output_datatype": LOW}, "ConstantOfShape": {"value": LOW},
}

# How many operands a variadic parameter gets, and the optional parameters that are given.
_VARIADIC = 2
GIVEN = {"Clip": ("min", "max"), "Resize": ("roi", "scales"), "STFT": ("frame_length",), "TensorScatter": ("write_indices",),
         "Squeeze": ("axes",), "Unsqueeze": ("axes",)}

# Types of type variables: those that rules/onnx/roles.amp keeps, and integers where several kinds are used.
_UINT8, _INT8, _INT32 = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32
KEPT = {"BatchNormalization": [{"T1": FLOAT, "T2": FLOAT, "U": FLOAT}], "GridSample": [{"T2": FLOAT}], "Dropout": [{"T1": FLOAT}],
        "LinearAttention": [{"S": FLOAT}], "Resize": [{"T2": FLOAT}],
        "OneHot": [{"T1": a, "T2": b} for a in (INT64, _INT32, FLOAT) for b in (INT64, _INT32, FLOAT)],
        "DequantizeLinear": [{"T1": t} for t in (_UINT8, _INT8, _INT32)], "QuantizeLinear": [{"T3": t} for t in (_UINT8, _INT8)],
        "QLinearMatMul": [{"T1": t, "T2": t, "T3": t} for t in (_UINT8, _INT8)]}


class Unmade(Exception):
    """No such node: the schema has no float operand of this type, or an operand is no tensor."""


@functools.lru_cache(maxsize=None)
def schemas(domain=""):
    """Every operator's versions that some opset from OLDEST on has: name -> [(schema, first opset, last opset)].

    A kernel is looked up by the version of the schema. A function's body may fit one opset and not the next, so there every
    opset stands by itself."""
    history = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == domain:
            history.setdefault(schema.name, []).append(schema)
    found = {}
    for name, versions in sorted(history.items()):
        versions.sort(key=lambda s: s.since_version)
        ends = [v.since_version - 1 for v in versions[1:]] + [NEWEST]
        spans = [(v, max(v.since_version, OLDEST), end) for v, end in zip(versions, ends) if end >= OLDEST and not v.deprecated]
        if name not in LEFT:
            found[name] = [part for v, first, last in spans for part in
                           ([(v, n, n) for n in range(first, last + 1)] if is_function(v) and not domain else [(v, first, last)])]
    return found


def is_function(schema):
    """Whether onnx gives a body of other operators for it, which a runtime may put in its place."""
    return schema.has_function or schema.has_context_dependent_function


def admits(schema, elem):
    """Whether some float operand or result of it may have this type."""
    return any("tensor(float)" in c.allowed_type_strs and TYPE_NAMES[elem] in c.allowed_type_strs for c in schema.type_constraints)


def variants(schema):
    """Ways to make the node: (index into KEPT, how many of the optional operands are given from the left, in a branch of If)."""
    optional = sum(formal.option == Parameter.Optional and formal.name not in GIVEN.get(schema.name, ()) for formal in schema.inputs)
    kinds = range(1, len(KEPT.get(schema.name, [{}])))
    ways = [(0, count, False) for count in range(optional + 1)] + [(kind, 0, False) for kind in kinds]
    return ways + [(0, 0, True)] * is_function(schema)


def bind(schema, elem, kept_types):
    """Type variable -> element type: `elem` wherever a variable takes fp32 and it."""
    bound = {}
    for constraint in schema.type_constraints:
        allowed = [t for t in constraint.allowed_type_strs if t.startswith("tensor(")]
        if not allowed:
            raise Unmade("sequences and optionals keep their types")
        kept = kept_types.get(constraint.type_param_str)
        if kept is not None and TYPE_NAMES[kept] in allowed:
            bound[constraint.type_param_str] = kept
        elif "tensor(float)" in allowed:
            bound[constraint.type_param_str] = elem if TYPE_NAMES[elem] in allowed else FLOAT
        else:
            other = next((t for t in OTHER_TYPES if TYPE_NAMES[t] in allowed), None)
            if other is None:
                raise Unmade("an operand of an odd type")
            bound[constraint.type_param_str] = other
    return bound


class Maker:
    def __init__(self, schema, opset, elem, variant):
        self.schema, self.opset, self.elem = schema, opset, elem
        self.bound = bind(schema, elem, KEPT.get(schema.name, [{}])[variant[0]])
        self.optional, self.nested = variant[1], variant[2]
        self.rng = np.random.default_rng(0)
        self.inputs, self.initializers, self.before, self.feeds = [], [], [], {}

    def type_of(self, formal):
        if formal.type_str in self.bound:
            return self.bound[formal.type_str]
        return next(t for t, name in TYPE_NAMES.items() if name == formal.type_str)

    def constant(self, name, elem, value):
        array = np.asarray(value).astype(helper.tensor_dtype_to_np_dtype(elem))
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def given(self, name, elem, shape):
        """A graph input. numpy and the runtime exchange no bf16: such a one is cast first."""
        if elem not in (FLOAT, FLOAT16, BFLOAT16):
            return self.constant(name, elem, np.ones(shape))
        values = self.rng.uniform(0.2, 0.9, shape)
        outside = FLOAT if elem == BFLOAT16 else elem
        source = f"{name}_fp32" if elem == BFLOAT16 else name
        self.inputs.append(helper.make_tensor_value_info(source, outside, shape))
        self.feeds[source] = np.asarray(values).astype(helper.tensor_dtype_to_np_dtype(outside))
        if elem == BFLOAT16:
            self.before.append(helper.make_node("Cast", [source], [name], to=BFLOAT16))
        return name

    def operands(self):
        shapes = SHAPES.get(self.schema.name, [BASE])
        values = VALUES.get(self.schema.name, {})
        names, floats = [], 0
        for formal in self.schema.inputs:
            optional = formal.option == Parameter.Optional
            if optional and formal.name not in GIVEN.get(self.schema.name, ()):
                self.optional -= 1
                if self.optional < 0:
                    names.append("")
                    continue
            for i in range(_VARIADIC if formal.option == Parameter.Variadic else 1):
                name = f"{formal.name}{i or ''}"
                if formal.name in values:
                    names.append(self.constant(name, self.type_of(formal), values[formal.name]))
                else:
                    names.append(self.given(name, self.type_of(formal), shapes[min(floats, len(shapes) - 1)]))
                    floats += 1
        while names and not names[-1]:
            names.pop()
        return names

    def attributes(self):
        found = {}
        for name, value in ATTRIBUTES.get(self.schema.name, {}).items():
            if name not in self.schema.attributes or (name, self.schema.name) == ("num_outputs", "Split") and self.optional >= 0:
                continue
            if value is LOW:
                value = helper.make_tensor("", self.elem, [1], [1]) if name == "value" else self.elem
            found[name] = value
        return found

    def model(self):
        single = sum(o.option != Parameter.Optional for o in self.schema.outputs)
        count = 2 if self.schema.name == "Split" else max(1, single)
        results = [f"result{i}" for i in range(count)]
        node = helper.make_node(self.schema.name, self.operands(), results, "it", domain=self.schema.domain, **self.attributes())
        types = self.result_types(node, results)
        after, outputs = [], []
        for result in results:
            name = result
            if types[result] == BFLOAT16:
                name = f"{result}_fp32"
                after.append(helper.make_node("Cast", [result], [name], to=FLOAT))
            outputs.append(onnx.ValueInfoProto(name=name))
            outputs[-1].type.tensor_type.elem_type = FLOAT if types[result] == BFLOAT16 else types[result]
        node = self.branches(node, types) if self.nested else node
        return self.wrap(self.before + [node] + after, outputs)

    def branches(self, node, types):
        """An If that does the same in either branch."""
        self.inputs.append(helper.make_tensor_value_info("condition", TensorProto.BOOL, []))
        self.feeds["condition"] = np.array(True)
        graphs = []
        for branch in ("then", "else"):
            inner = onnx.NodeProto()
            inner.CopyFrom(node)
            inner.output[:] = [f"{branch}_{name}" for name in node.output]
            results = [helper.make_tensor_value_info(f"{branch}_{name}", types[name], None) for name in node.output]
            graphs.append(helper.make_graph([inner], branch, [], results))
        return helper.make_node("If", ["condition"], list(node.output), then_branch=graphs[0], else_branch=graphs[1])

    def wrap(self, nodes, outputs):
        graph = helper.make_graph(nodes, "one", self.inputs, outputs, self.initializers)
        imports = [helper.make_opsetid("", self.opset)]
        if self.schema.domain:
            imports.append(helper.make_opsetid(self.schema.domain, self.schema.since_version))
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def result_types(self, node, results):
        """What onnx infers; an operator that it refuses has a wrong entry in the tables above."""
        bare = self.wrap(self.before + [node], [onnx.ValueInfoProto(name=r) for r in results])
        strict = self.schema.name not in NOT_INFERRED
        inferred = onnx.shape_inference.infer_shapes(bare, check_type=strict, strict_mode=strict)
        return {v.name: v.type.tensor_type.elem_type or self.elem for v in inferred.graph.output}


def make(schema, opset, elem, variant=(0, 0, False)):
    """(model, feeds) of a node of this version, its float operands of type `elem`."""
    if elem != FLOAT and not admits(schema, elem):
        raise Unmade("the schema does not admit the type")
    maker = Maker(schema, opset, elem, variant)
    return maker.model(), maker.feeds
