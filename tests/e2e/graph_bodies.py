"""Nodes that carry graphs: If, Loop, Scan, SequenceMap. A part of graph_maker.Maker."""

import functools

from onnx import TensorProto, helper

import graph_hints as hints
from graph_scope import Rejected, Scope, Value


class Bodies:
    def body(self, outer, inputs=()):
        """A body, its formal inputs given by the ends of their names, and its fill."""
        scope = Scope(outer)
        for end, type_proto in inputs:
            name = f"f{scope.tag}_{end}"
            scope.inputs.append((name, type_proto))
            scope.add(Value(name, type_proto), made=False)
        if self.rng.random() < 0.9:
            self.fill(scope, self.rng.randint(1, 5))
        return scope

    def made_of_type(self, scope, text):
        """A value of that type that this very graph makes (an output may be no captured value)."""
        fits = [v for v in scope.made if v.text == text]
        if fits and self.rng.random() < 0.8:
            return self.rng.choice(fits)
        for source in [v for v in reversed(scope.visible) if v.text == text][:1]:
            return self.accept(self.node("Identity", [source.name], scope, 1), scope)[0]
        raise Rejected

    def graph(self, scope, outputs, name):
        said = {v.name for v in outputs}
        return helper.make_graph(
            scope.nodes, name, [helper.make_value_info(n, t) for n, t in scope.inputs],
            [helper.make_value_info(v.name, v.type) for v in outputs], scope.initializers,
            sparse_initializer=scope.sparse,
            value_info=[helper.make_value_info(v.name, v.type) for v in scope.declared if v.name not in said])

    def if_node(self, scope):
        condition = self.pick(scope, "tensor(bool)", [])
        then, other = self.body(scope), self.body(scope)
        if not then.made:
            self.new_constant(then, TensorProto.FLOAT, hints.BASE)
        here = then.made or [v for v in then.visible if v.name in {t.name for t in then.initializers}]
        if not here:
            raise Rejected
        results = self.distinct(here, 2)
        others = []
        for result in results:
            others.append(self.made_of_type(other, result.text))
        if len({v.name for v in others}) < len(others):
            raise Rejected
        node = self.node("If", [condition.name], scope, len(results))
        node.attribute.extend([helper.make_attribute("then_branch", self.graph(then, results, "then")),
                               helper.make_attribute("else_branch", self.graph(other, others, "else"))])
        return self.accept(node, scope)

    def loop_node(self, scope):
        states = self.distinct([v for v in scope.visible if v.text.startswith("tensor(")], 2)
        count = self.pick(scope, "tensor(int64)", []).name if self.rng.random() < 0.7 else ""
        keep = self.pick(scope, "tensor(bool)", []).name if self.rng.random() < 0.5 or not count else ""
        scalar = functools.partial(helper.make_tensor_type_proto, shape=[])
        inputs = [("i", scalar(TensorProto.INT64)), ("go", scalar(TensorProto.BOOL))]
        # The shapes of states may change from turn to turn: only their types are said.
        inputs += [(f"s{k}", helper.make_tensor_type_proto(v.type.tensor_type.elem_type, None)) for k, v in enumerate(states)]
        body = self.body(scope, inputs)
        go_on = self.accept(self.node("Identity", [body.inputs[1][0]], body, 1), body)[0]
        outputs = [go_on] + [self.made_of_type(body, s.text) for s in states]
        rest = [v for v in body.made if v.text.startswith("tensor(") and v not in outputs]
        outputs += self.distinct(rest, 1) if rest and self.rng.random() < 0.6 else []
        if len({v.name for v in outputs}) < len(outputs):
            raise Rejected
        node = self.node("Loop", [count, keep] + [s.name for s in states], scope, len(outputs) - 1)
        node.attribute.append(helper.make_attribute("body", self.graph(body, outputs, "loop")))
        return self.accept(node, scope)

    def scan_node(self, scope):
        rows = [v for v in scope.visible if v.text == "tensor(float)" and v.shape]
        if not rows:
            raise Rejected
        state, row = self.rng.choice(rows), self.rng.choice(rows)
        inputs = [("s", helper.make_tensor_type_proto(TensorProto.FLOAT, state.shape)),
                  ("x", helper.make_tensor_type_proto(TensorProto.FLOAT, row.shape[1:]))]
        body = self.body(scope, inputs)
        kept = self.accept(self.node("Neg", [body.inputs[0][0]], body, 1), body)[0]
        rest = [v for v in body.made if v.text.startswith("tensor(") and v is not kept]
        outputs = [kept] + (self.distinct(rest, 1) if rest else [])
        node = self.node("Scan", [state.name, row.name], scope, len(outputs))
        node.attribute.extend([helper.make_attribute("body", self.graph(body, outputs, "scan")),
                               helper.make_attribute("num_scan_inputs", 1)])
        return self.accept(node, scope)

    def sequence_map(self, scope):
        if self.opset < 17:
            raise Rejected
        sequence = self.pick(scope, "seq(tensor(float))", None)
        body = self.body(scope, [("x", helper.make_tensor_type_proto(TensorProto.FLOAT, sequence.element_shape))])
        outputs = self.distinct([v for v in body.made if v.text.startswith("tensor(")], 2)
        node = self.node("SequenceMap", [sequence.name], scope, len(outputs))
        node.attribute.append(helper.make_attribute("body", self.graph(body, outputs, "map")))
        return self.accept(node, scope)

    def distinct(self, values, most):
        if not values:
            raise Rejected
        return self.rng.sample(values, min(len(values), self.rng.randint(1, most)))
