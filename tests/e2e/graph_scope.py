"""Graphs in the making: values with their types, and which of them a nested graph sees."""

from onnx import TensorProto

TENSOR_NAMES = {"float": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16,
                 "double": TensorProto.DOUBLE, "int8": TensorProto.INT8, "int16": TensorProto.INT16,
                 "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
                 "uint16": TensorProto.UINT16, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
                 "bool": TensorProto.BOOL, "string": TensorProto.STRING}
_TENSOR_TEXTS = {value: name for name, value in TENSOR_NAMES.items()}


def type_text(type_proto):
    """The schemas' spelling, "tensor(float)"; "" for what the maker has no use for."""
    kind = type_proto.WhichOneof("value")
    if kind == "tensor_type":
        name = _TENSOR_TEXTS.get(type_proto.tensor_type.elem_type)
        return f"tensor({name})" if name else ""
    if kind in ("sequence_type", "optional_type"):
        inner = type_text(getattr(type_proto, kind).elem_type)
        return f"{'seq' if kind == 'sequence_type' else 'optional'}({inner})" if inner else ""
    return ""


def shape_of(type_proto):
    """Dimensions of a tensor, None where some are unknown."""
    if type_proto.WhichOneof("value") != "tensor_type" or not type_proto.tensor_type.HasField("shape"):
        return None
    dims = type_proto.tensor_type.shape.dim
    return [d.dim_value for d in dims] if all(d.HasField("dim_value") for d in dims) else None


class Rejected(Exception):
    """This draw makes no valid node."""


class Value:
    def __init__(self, name, type_proto, tensor=None):
        self.name, self.type, self.tensor = name, type_proto, tensor
        self.text, self.shape = type_text(type_proto), shape_of(type_proto)

    @property
    def element_shape(self):
        """Of a sequence: the shape of its tensors, None where that is unknown."""
        return shape_of(self.type.sequence_type.elem_type)


class Scope:
    """A graph in the making. Values of the outer graphs are visible in it."""

    def __init__(self, outer=None, alike=False):
        """`alike`: sibling bodies have the same names, as exporters write them; of the main graph, for all below it."""
        self.outer, self.root = outer, outer.root if outer else self
        self.alike = self.root.alike if outer else alike
        self.depth = outer.depth + 1 if outer else 0
        self.root.bodies = self.root.bodies + 1 if outer else 0
        self.tag = str(self.depth) if self.alike else f"{self.depth}x{self.root.bodies}"
        self.visible = list(outer.visible) if outer else []
        self.nodes, self.initializers, self.sparse, self.inputs, self.made = [], [], [], [], []
        self.declared = []  # what value_info alone gives a type
        self.counter = 0
        self.depths = outer.depths if outer else {}  # of the deepest graph that has a name like a cast's

    def fresh(self, rng, stem="v"):
        """A name new along the chain of graphs."""
        self.counter += 1
        if self.visible and rng.random() < 0.03:  # a name that the compiler would choose
            name = f"{rng.choice(self.visible).name}.cast_{rng.choice(['fp16', 'bf16', 'fp32'])}"
            # A name that a body has, and the graph around it later on, is legal; but onnx's inference takes one value's
            # type for the other's where value_info tells it, and so refuses such graphs unless the types are the same.
            if name not in {v.name for v in self.visible} and self.depths.get(name, 0) <= self.depth:
                self.depths[name] = self.depth
                return name
        return f"/b{self.tag}/{stem}.{self.counter}" if rng.random() < 0.5 else f"{stem}{self.tag}_{self.counter}"

    def add(self, value, made=True):
        self.visible.append(value)
        if made:
            self.made.append(value)
        return value
