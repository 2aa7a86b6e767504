"""Random valid ONNX models, drawn from onnx's schemas.

A node is drawn by its schema: types for its type variables, operands of those types that are visible, attributes. What
onnx's strict inference does not take is dropped and drawn again, so that no table here says what an operator accepts;
graph_hints.py only makes hits likelier. Equal seeds give equal models.
"""

import functools

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, defs, helper, numpy_helper

import graph_functions
import graph_hints as hints
from graph_bodies import Bodies
from graph_scope import TENSOR_NAMES, Rejected, Scope, Value, type_text

MIN_OPSET, MAX_OPSET = 7, min(28, defs.onnx_opset_version())
COMMON_OPSET = 13  # and most models' are from there on
MAX_IR = helper.find_min_ir_version_for([helper.make_opsetid("", MAX_OPSET)])
ML_OPSET = 3
CUSTOM = "com.acme.ops"  # a domain without schemas
BODIES = {"If", "Loop", "Scan", "SequenceMap"}
Parameter = defs.OpSchema.FormalParameterOption

@functools.lru_cache(maxsize=None)
def operators(opset, domain=""):
    """Schemas of a domain at an opset, without those that carry graphs."""
    version = ML_OPSET if domain else opset
    names = sorted({s.name for s in defs.get_all_schemas_with_history() if s.domain == domain and s.since_version <= version})
    found = [defs.get_schema(name, version, domain) for name in names]
    return [s for s in found if not s.deprecated and s.name not in BODIES and s.name not in ("Constant", "Cast")]


class Maker(Bodies):
    def __init__(self, rng, nodes):
        self.rng = rng
        self.opset = rng.randint(MIN_OPSET if rng.random() < 0.2 else COMMON_OPSET, MAX_OPSET)
        self.ir = max(rng.randint(4, MAX_IR), helper.find_min_ir_version_for([helper.make_opsetid("", self.opset)]))
        self.budget = nodes
        self.with_ml = rng.random() < 0.15
        self.functions = graph_functions.functions(self.opset, self.ir) if rng.random() < 0.25 else []
        self.used = set()

    # --- values ------------------------------------------------------------------------------------------------------

    def tensor(self, elem, shape, name=""):
        """A constant in one of the forms that a file may hold it in."""
        numbers = np.random.default_rng(self.rng.getrandbits(32))
        if elem == TensorProto.STRING:
            return helper.make_tensor(name, elem, shape, [b"a"] * int(np.prod(shape)))
        dtype = helper.tensor_dtype_to_np_dtype(elem)
        data = numbers.normal(0, 1, shape) if numbers.random() < 0.8 else numbers.integers(0, 3, shape)
        if elem not in hints.FLOATS:
            data = numbers.integers(0, 2, shape)
        elif numbers.random() < 0.05:
            data = data * 1e6  # beyond fp16
        elif numbers.random() < 0.05:
            data = data * 1e-9  # below it
        with np.errstate(over="ignore"):
            data = np.asarray(data).astype(dtype)
        if self.rng.random() < 0.5:
            return numpy_helper.from_array(data, name)
        return helper.make_tensor(name, elem, shape, data.flatten().tolist())

    def new_constant(self, scope, elem, shape):
        """A fresh initializer, here or in the main graph, or a Constant node."""
        if self.rng.random() < 0.25:
            return self.constant(scope, elem, shape)
        name = scope.fresh(self.rng, "w")
        tensor = self.tensor(elem, shape, name)
        scope.initializers.append(tensor)
        type_proto = helper.make_tensor_type_proto(elem, shape)
        if scope.depth == 0 and self.rng.random() < 0.1:  # one that a caller may override
            scope.inputs.append((name, type_proto))
            tensor = None
        return scope.add(Value(name, type_proto, tensor), made=False)

    def constant(self, scope, elem, shape):
        """A Constant node, its value in any of its attributes."""
        tensor = self.tensor(elem, shape)
        forms = {TensorProto.FLOAT: "float", TensorProto.INT64: "int", TensorProto.STRING: "string"}
        attribute = helper.make_attribute("value", tensor)
        if elem in forms and len(shape) < 2 and self.opset >= 12 and self.rng.random() < 0.6:
            form = f"value_{forms[elem]}{'s' if shape else ''}"
            content = numpy_helper.to_array(tensor).flatten().tolist()
            kind = AttributeProto.AttributeType.Value(f"{forms[elem].upper()}{'S' if shape else ''}")
            attribute = helper.make_attribute(form, content if shape else content[0], attr_type=kind)
        elif elem == TensorProto.FLOAT and len(shape) == 2 and self.opset >= 11 and self.rng.random() < 0.3:
            attribute, tensor = helper.make_attribute("sparse_value", self.sparse("", shape)), None
        node = self.node("Constant", [], scope, 1)
        node.attribute.append(attribute)
        return self.accept(node, scope, tensor)[0]

    def sparse(self, name, shape):
        """A sparse matrix of two elements, their places counted through or by row and column."""
        values = helper.make_tensor(name, TensorProto.FLOAT, [2], [0.5, -1.25])
        last = [shape[0] - 1, shape[1] - 1]
        where = [0, last[0] * shape[1] + last[1]] if self.rng.random() < 0.5 else [0, 0, *last]
        indices = helper.make_tensor(f"{name}_at", TensorProto.INT64, [2, 2] if len(where) == 4 else [2], where)
        return helper.make_sparse_tensor(values, indices, shape)

    def sparse_weight(self, scope):
        name, shape = scope.fresh(self.rng, "sp"), self.rng.choice([[4, 4], [3, 4]])
        scope.sparse.append(self.sparse(name, shape))
        return [scope.add(Value(name, helper.make_tensor_type_proto(TensorProto.FLOAT, shape)), made=False)]

    def pick(self, scope, text, shape):
        """A visible value of that type, of that shape where one is hinted; or a new constant."""
        fits = [v for v in scope.visible if v.text == text and (shape is None or v.shape == shape)]
        if fits and self.rng.random() < 0.85:
            near = fits[-4:] if self.rng.random() < 0.5 else fits
            return self.rng.choice(near)
        if text.startswith("seq(tensor("):
            element = self.pick(scope, text[4:-1], None)
            return self.accept(self.node("SequenceConstruct", [element.name], scope, 1), scope)[0]
        if not text.startswith("tensor("):
            raise Rejected
        return self.new_constant(scope, TENSOR_NAMES[text[7:-1]], hints.BASE if shape is None else shape)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def node(self, op, inputs, scope, outputs, domain=""):
        name = "" if self.rng.random() < 0.3 else scope.fresh(self.rng, "n")
        node = helper.make_node(op, inputs, [scope.fresh(self.rng) for _ in range(outputs)], name=name, domain=domain)
        if self.rng.random() < 0.1:
            node.doc_string = "drawn"
        if self.ir >= 10 and self.rng.random() < 0.1:
            node.metadata_props.add(key="namespace", value=self.rng.choice(hints.NAMESPACES))
        return node

    def accept(self, node, scope, tensor=None):
        """Adds the node where onnx infers every result of it; returns its results. `tensor`: what a Constant holds."""
        known = {v.name: v for v in scope.visible}
        names = set(filter(None, node.input))
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                names |= set(known)  # whatever its body captures
        values = [known[n] for n in names]
        results = [o for o in node.output if o]
        if len(set(results)) < len(results) or set(results) & set(known):
            raise Rejected
        graph = helper.make_graph(
            [node], "g", [helper.make_value_info(v.name, v.type) for v in values if v.tensor is None], [],
            [named(v.tensor, v.name) for v in values if v.tensor is not None])
        model = self.model(graph)
        try:
            model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        except Exception as error:  # onnx has no one class for this
            raise Rejected from error
        types = {v.name: v.type for v in model.graph.value_info}
        if not all(o in types and type_text(types[o]) for o in results):
            raise Rejected
        scope.nodes.append(node)
        self.used.add(node.op_type)
        return [scope.add(Value(o, types[o], tensor)) for o in results]

    def draw(self, schema, scope):
        """A node of this operator."""
        shapes = self.rng.choice(hints.SHAPES.get(schema.name, [[]]))
        bound, inputs = {}, []
        for position, formal in enumerate(schema.inputs):
            if formal.option == Parameter.Optional and self.rng.random() < 0.4:
                inputs.append("")
                continue
            variadic = formal.option == Parameter.Variadic
            count = max(self.rng.randint(1, 3), schema.min_input - position) if variadic else 1
            for i in range(count):
                key = formal.type_str if not variadic or formal.is_homogeneous else f"{formal.type_str}{i}"
                if key not in bound:
                    bound[key] = self.choose_type(sorted(formal.types), scope)
                shape = shapes[min(position, len(shapes) - 1)] if shapes else None
                inputs.append(self.pick(scope, bound[key], shape).name)
        while inputs and inputs[-1] == "":
            inputs.pop()
        outputs = sum(1 for o in schema.outputs if o.option != Parameter.Optional or self.rng.random() < 0.4)
        node = self.node(schema.name, inputs, scope, max(1, outputs), schema.domain)
        for name, attribute in sorted(schema.attributes.items()):
            if attribute.required or self.rng.random() < (0.5 if name in hints.TYPE_ATTRIBUTES else 0.08):
                drawn = hints.attribute(self.rng, schema.name, name, attribute, self.opset)
                node.attribute.extend([drawn] if drawn is not None else [])
        return self.accept(node, scope)

    def choose_type(self, allowed, scope):
        present = {v.text for v in scope.visible}
        good = [t for t in allowed if t in present or t[7:-1] in TENSOR_NAMES or t[11:-2] in TENSOR_NAMES]
        if not good:
            raise Rejected
        for favourite in ("tensor(float)", "seq(tensor(float))"):
            if favourite in good and self.rng.random() < 0.8:
                return favourite
        return self.rng.choice([t for t in good if t in present] or good)

    def cast(self, scope):
        value = self.rng.choice([v for v in scope.visible if v.text.startswith("tensor(")] or [None])
        if value is None:
            raise Rejected
        node = self.node("Cast", [value.name], scope, 1)
        to = self.rng.choice(hints.CAST_TARGETS)
        node.attribute.append(helper.make_attribute("to", to))
        return self.accept(node, scope)

    # --- models ------------------------------------------------------------------------------------------------------

    def step(self, scope):
        kinds = [(self.if_node, 7), (self.loop_node, 6), (self.scan_node, 4), (self.sequence_map, 2)] if scope.depth < 3 else []
        kinds += [(self.cast, 8), (self.any_constant, 5), (self.sparse_weight, 1), (self.custom, 3), (self.common, 40), (self.anything, 34)]
        kinds += [(self.call, 20)] if self.functions else []
        (kind,) = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])
        # What a rejected draw left in the graph (constants) stays: unused values are legal.
        kind(scope)

    def call(self, scope):
        """A call of one of the model's own functions."""
        function = self.rng.choice(self.functions)
        shape = self.rng.choice([hints.BASE, [4, 4]])
        text = "tensor(float)" if self.rng.random() < 0.8 else "tensor(float16)"
        operands = [self.pick(scope, text, shape).name for _ in function.input]
        node = self.node(function.name, operands, scope, len(function.output), function.domain)
        if function.overload:
            node.overload = function.overload
        node.attribute.extend(helper.make_attribute(a, 0.25) for a in function.attribute)
        return self.accept(node, scope)

    def custom(self, scope):
        """An operator without schema: its results have the types that value_info says. rule_maker may declare Warp."""
        if self.rng.random() < 0.6:
            op, count = "Warp", self.rng.randint(1, 2)
            operands = [self.pick(scope, "tensor(float)", None) for _ in range(self.rng.randint(1, 2))]
            operands += [self.rng.choice(scope.visible)] if len(operands) == 2 and self.rng.random() < 0.3 else []
            elems = [TensorProto.FLOAT, TensorProto.INT64][:count]
        else:
            op, count = "Router", self.rng.randint(1, 2)
            operands = [self.rng.choice(scope.visible) for _ in range(self.rng.randint(1, 3))]
            elems = [self.rng.choice(hints.CUSTOM_TYPES) for _ in range(count)]
        node = self.node(op, [v.name for v in operands], scope, count, CUSTOM)
        if set(node.output) & {v.name for v in scope.visible} or len(set(node.output)) < count:
            raise Rejected
        scope.nodes.append(node)
        made = [scope.add(Value(o, helper.make_tensor_type_proto(e, hints.BASE))) for o, e in zip(node.output, elems)]
        scope.declared += made
        self.used.add(op)
        return made

    def any_constant(self, scope):
        return [self.constant(scope, self.rng.choice(hints.CONSTANT_TYPES), self.rng.choice([[], [1], [4], [0], hints.BASE]))]

    def common(self, scope):
        name = self.rng.choice(hints.COMMON)
        schema = next((s for s in operators(self.opset) if s.name == name), None)
        if schema is None:
            raise Rejected
        return self.draw(schema, scope)

    def anything(self, scope):
        domain = "ai.onnx.ml" if self.with_ml and self.rng.random() < 0.3 else ""
        return self.draw(self.rng.choice(operators(self.opset, domain)), scope)

    def fill(self, scope, wanted):
        for _ in range(wanted):
            for _ in range(12):
                try:
                    self.step(scope)
                    break
                except Rejected:
                    continue

    def model(self, graph):
        imports = [helper.make_opsetid("", self.opset)]
        if self.with_ml:
            imports.append(helper.make_opsetid("ai.onnx.ml", ML_OPSET))
        imports += [helper.make_opsetid(d, 1) for d in sorted({CUSTOM, *(f.domain for f in self.functions)})]
        model = helper.make_model(graph, opset_imports=imports, producer_name="graph_maker", functions=self.functions)
        model.ir_version = max(self.ir, helper.find_min_ir_version_for(imports, ignore_unknown=True))
        return model

    def make(self):
        scope = Scope(alike=self.rng.random() < 0.5)
        for i, (elem, shape) in enumerate(hints.INPUTS):
            if i < 3 or self.rng.random() < 0.5:
                type_proto = helper.make_tensor_type_proto(elem, shape)
                scope.inputs.append((f"in{i}", type_proto))
                scope.add(Value(f"in{i}", type_proto), made=False)
        self.fill(scope, self.budget)
        # An output must have a rank, which inference does not always find.
        fit = [v for v in scope.made if not v.text.startswith("tensor(") or v.type.tensor_type.HasField("shape")]
        if not fit:
            raise Rejected
        outputs = list(dict.fromkeys([fit[-1], *self.rng.sample(fit, min(len(fit), self.rng.randint(1, 4)))]))
        weights = {t.name for t in scope.initializers} - {n for n, _ in scope.inputs}
        if self.rng.random() < 0.05:
            outputs += [v for v in scope.visible if v.name in weights][:1]
        graph = self.graph(scope, outputs, "random")
        if self.rng.random() < 0.5:
            said = {v.name for v in [*outputs, *scope.declared]}
            graph.value_info.extend(helper.make_value_info(v.name, v.type) for v in scope.made if v.name not in said)
        return self.model(graph)


def named(tensor, name):
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.name = name
    return copy


def make(rng, nodes):
    """(a model that passes onnx's full check and strict inference, the operators in it)"""
    while True:
        maker = Maker(rng, nodes)
        try:
            model = maker.make()
            onnx.checker.check_model(model, full_check=True)
            # With and without its type check: inference takes some graphs in one way alone.
            for check_type in (True, False):
                onnx.shape_inference.infer_shapes(model, check_type=check_type, strict_mode=True, data_prop=True)
            return model, maker.used
        except (Rejected, onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError):
            continue
