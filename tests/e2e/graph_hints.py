"""Shapes, attributes and weights that make graph_maker's draws likelier to be valid. Nothing depends on their being right."""

from onnx import AttributeProto, TensorProto, defs, helper

T = TensorProto
FLOATS = (T.FLOAT, T.FLOAT16, T.BFLOAT16, T.DOUBLE)
BASE = [2, 3, 4]
IMAGE, KERNEL, SIGNAL = [1, 3, 8, 8], [3, 3, 3, 3], [1, 3, 8]

INPUTS = [(T.FLOAT, BASE), (T.FLOAT, [4, 4]), (T.FLOAT, IMAGE), (T.FLOAT, BASE), (T.INT64, []), (T.BOOL, []), (T.INT64, BASE),
          (T.FLOAT, []), (T.FLOAT16, BASE), (T.BFLOAT16, BASE), (T.DOUBLE, BASE), (T.BOOL, BASE), (T.INT64, [3]), (T.FLOAT, [4])]
CAST_TARGETS = [T.FLOAT] * 4 + [T.FLOAT16] * 3 + [T.BFLOAT16] * 2 + [T.DOUBLE, T.INT64, T.INT32, T.BOOL]
NAMESPACES = ["/encoder/layer.0", "/encoder/layer.1/mlp", "head"]
CUSTOM_TYPES = [T.FLOAT] * 4 + [T.FLOAT16, T.INT64]
CONSTANT_TYPES = [T.FLOAT] * 5 + [T.INT64, T.FLOAT16, T.DOUBLE, T.BOOL, T.STRING]

# Half of all draws: what real models are made of, so that long chains of them come up.
COMMON = ["MatMul", "Gemm", "Conv", "Add", "Sub", "Mul", "Div", "Relu", "Sigmoid", "Tanh", "Softmax", "LayerNormalization", "Reshape",
          "Transpose", "Concat", "Split", "Gather", "Where", "Clip", "Erf", "Exp", "Sqrt", "Pow", "ReduceMean", "ReduceSum", "Slice",
          "Unsqueeze", "Squeeze", "Expand", "Identity", "BatchNormalization", "InstanceNormalization", "Resize", "MaxPool",
          "AveragePool", "GlobalAveragePool", "ConvTranspose", "LSTM", "GRU", "Pad", "Tile", "TopK", "Range", "ConstantOfShape",
          "QuantizeLinear", "DequantizeLinear", "RandomNormal", "RandomUniformLike", "Shape", "CumSum", "Einsum", "Greater",
          "SequenceConstruct", "SequenceAt", "SplitToSequence", "SequenceInsert", "SequenceLength", "ConcatFromSequence", "EyeLike", "OneHot", "NonZero", "Dropout"]

# Sets of operand shapes. The last repeats; None is any shape.
_SAME, _ROW, _MATRIX = [[BASE]], [[[4]]], [[[4, 4]]]
_RNN = [[5, 2, 4]]
SHAPES = {
    "MatMul": [[[4, 4]], [BASE, [4, 4]]], "Gemm": _MATRIX, "Det": _MATRIX, "Trilu": [[[4, 4], []]], "EyeLike": _MATRIX,
    "Conv": [[IMAGE, KERNEL, [3]]], "ConvTranspose": [[IMAGE, KERNEL, [3]]], "ConvInteger": [[IMAGE, KERNEL, []]],
    "DeformConv": [[IMAGE, KERNEL, [1, 18, 6, 6], [3], [1, 9, 6, 6]]],
    "MaxPool": [[IMAGE]], "MaxUnpool": [[IMAGE, IMAGE, [4]]], "AveragePool": [[IMAGE]], "LpPool": [[IMAGE]], "GlobalAveragePool": [[IMAGE]], "GlobalMaxPool": [[IMAGE]],
    "GlobalLpPool": [[IMAGE]], "DepthToSpace": [[[1, 4, 8, 8]]], "SpaceToDepth": [[IMAGE]], "GridSample": [[IMAGE, [1, 8, 8, 2]]],
    "RoiAlign": [[IMAGE, [2, 4], [2]]], "MaxRoiPool": [[IMAGE, [2, 5]]], "AffineGrid": [[[1, 2, 3], [4]]], "LRN": [[IMAGE]],
    "Col2Im": [[[1, 12, 9], [2], [2]]], "Resize": [[IMAGE, [8], [4], [4]], [BASE, [6], [3], [3]]], "Upsample": [[IMAGE, [4]]],
    "BatchNormalization": [[IMAGE, [3]], [BASE, [3]]], "InstanceNormalization": [[IMAGE, [3]], [BASE, [3]]],
    "GroupNormalization": [[IMAGE, [3]]], "LayerNormalization": [[BASE, [4]]], "RMSNormalization": [[BASE, [4]]],
    "PRelu": [[BASE, [4]], _SAME[0]], "LSTM": [[_RNN[0], [1, 12, 4], [1, 12, 3], [1, 24], [2], [1, 2, 3], [1, 2, 3], [1, 9]]],
    "GRU": [[_RNN[0], [1, 9, 4], [1, 9, 3], [1, 18], [2], [1, 2, 3]]], "RNN": [[_RNN[0], [1, 3, 4], [1, 3, 3], [1, 6], [2], [1, 2, 3]]],
    "Reshape": [[BASE, [3]], [None, [1]]], "Expand": [[BASE, [3]]], "Tile": [[BASE, [3]]], "Pad": [[BASE, [6], [], [3]]],
    "Slice": [[BASE, [1]]], "Gather": [[BASE, []], [BASE, [3]]], "GatherElements": _SAME, "GatherND": [[BASE, [2, 1]]],
    "ScatterElements": _SAME, "ScatterND": [[BASE, [2, 1], [2, 3, 4]]], "Unsqueeze": [[BASE, [1]]], "Squeeze": [[[1, 3, 4], [1]]],
    "Split": [[[2, 4, 4]]], "TopK": [[BASE, [1]]], "CumSum": [[BASE, []]], "CumProd": [[BASE, []]], "OneHot": [[BASE, [], [2]]], "Range": [[[]]],
    "ConstantOfShape": [[[3]]], "Clip": [[BASE, []]], "Compress": [[BASE, [4]]], "Where": _SAME, "Einsum": _MATRIX,
    "QuantizeLinear": [[BASE, []]], "DequantizeLinear": [[BASE, []]], "QLinearMatMul": [[[4, 4], [], [], [4, 4], [], [], [], []]],
    "NonMaxSuppression": [[[1, 6, 4], [1, 2, 6], [1]]], "SequenceAt": [[None, []]], "SequenceErase": [[None, []]],
    "SequenceInsert": [[None, BASE, []]], "SequenceConstruct": _SAME, "SplitToSequence": [[BASE, []]], "NegativeLogLikelihoodLoss": [[[4, 4], [4], [4]]],
    "SoftmaxCrossEntropyLoss": [[[4, 4], [4], [4]]], "ReverseSequence": [[[4, 4], [4]]], "DFT": [[[1, 8, 1], [], []]],
    "STFT": [[[1, 16, 1], [], [8], []]], "MelWeightMatrix": [[[]]], "HannWindow": [[[]]], "HammingWindow": [[[]]],
    "BlackmanWindow": [[[]]], "MatMulInteger": [[[4, 4], [4, 4], []]], "Bernoulli": _SAME, "Dropout": [[BASE, []]],
    "StringNormalizer": _ROW, "TfIdfVectorizer": _ROW, "BitShift": _SAME, "Attention": [[[1, 2, 4, 4]]],
    "RotaryEmbedding": [[[1, 2, 4, 4], [1, 4, 2], [1, 4, 2]]], "ImageDecoder": [[[16]]], "CenterCropPad": [[BASE, [3]]],
    "Multinomial": _MATRIX, "MeanVarianceNormalization": [[IMAGE]], "ReduceMean": [[BASE, [1]]], "ReduceSum": [[BASE, [1]]],
    "ReduceMax": [[BASE, [1]]], "ReduceMin": [[BASE, [1]]], "ReduceL1": [[BASE, [1]]], "ReduceL2": [[BASE, [1]]],
    "ReduceLogSum": [[BASE, [1]]], "ReduceLogSumExp": [[BASE, [1]]], "ReduceProd": [[BASE, [1]]], "ReduceSumSquare": [[BASE, [1]]],
    "OptionalGetElement": [[None]], "OptionalHasElement": [[None]], "TensorScatter": [[[1, 2, 4, 4], [1, 2, 1, 4], [1]]],
    "LinearAttention": [[[1, 4, 4]]], "CausalConvWithState": [[SIGNAL, [3, 1, 3]]],
}

# Attributes that name a type, and so decide what a node makes (R20).
TYPE_ATTRIBUTES = {"dtype", "to", "output_datatype", "output_dtype"}
_TYPES = [T.FLOAT] * 4 + [T.FLOAT16, T.BFLOAT16, T.DOUBLE, T.INT64]

_VALUES = {
    "axis": [0, -1, 1], "axes": [[0], [1], [0, 1]], "perm": [[0, 2, 1], [2, 1, 0], [1, 0]], "kernel_shape": [[3, 3], [2, 2], [3]],
    "blocksize": [2], "hidden_size": [3], "equation": ["ij,jk->ik", "ij->ji"], "shape": [[2, 3, 4], [4, 4]], "size": [3],
    "num_groups": [1, 3], "num_outputs": [2], "group": [1], "num_heads": [2], "q_num_heads": [2], "kv_num_heads": [2], "direction": ["forward"],
    "pooled_shape": [[2, 2]], "stash_type": [T.FLOAT], "softmax_precision": [T.FLOAT], "value": [], "keepdims": [0, 1], "mode": [], "noop_with_empty_axes": [0, 1],
    "epsilon": [1e-5, 1e-12], "alpha": [0.25], "beta": [0.5], "gamma": [1.5], "p": [2], "k": [1],
    "min_gram_length": [1], "max_gram_length": [1], "max_skip_count": [0], "ngram_counts": [[0]], "ngram_indexes": [[0, 1]],
    "pool_int64s": [[1, 2]], "strides": [[2, 2], [1, 1]], "activations": [], "bit_width": [8],
}
_MODES = {"TfIdfVectorizer": "TF", "Resize": "nearest", "Pad": "constant", "DepthToSpace": "DCR", "RoiAlign": "avg"}


def attribute(rng, op, name, schema, opset):
    """One attribute for a node: the type or number that is likely right, else any of the declared kind, else None."""
    kinds = defs.OpSchema.AttrType
    if name in TYPE_ATTRIBUTES:
        return helper.make_attribute(name, rng.choice(_TYPES))
    if op == "ConstantOfShape" and name == "value":
        elem = rng.choice([T.FLOAT, T.FLOAT, T.FLOAT16, T.INT64, T.BFLOAT16 if opset >= 20 else T.DOUBLE])
        return helper.make_attribute(name, helper.make_tensor("", elem, [1], [1]))
    if op in _MODES and name == "mode":
        return helper.make_attribute(name, _MODES[op])
    if _VALUES.get(name):
        return helper.make_attribute(name, rng.choice(_VALUES[name]))
    if not schema.required and schema.default_value.type:
        return schema.default_value
    kind = schema.type
    if kind == kinds.INT:
        return helper.make_attribute(name, 1)
    if kind == kinds.FLOAT:
        return helper.make_attribute(name, 0.5)
    if kind == kinds.STRING:
        return helper.make_attribute(name, "linear")
    if kind == kinds.INTS:
        return helper.make_attribute(name, [1], attr_type=AttributeProto.INTS)
    if kind == kinds.FLOATS:
        return helper.make_attribute(name, [0.5], attr_type=AttributeProto.FLOATS)
    if kind == kinds.STRINGS:
        return helper.make_attribute(name, ["a"], attr_type=AttributeProto.STRINGS)
    if kind == kinds.TENSOR:
        return helper.make_attribute(name, helper.make_tensor("", T.FLOAT, [1], [1]))
    if kind == kinds.TYPE_PROTO:
        return helper.make_attribute(name, helper.make_tensor_type_proto(rng.choice(_TYPES), BASE))
    return None
