"""Functions that a drawn model may bring along."""

from onnx import AttributeProto, TensorProto, helper

FUNCTIONS_SINCE, OVERLOADS_SINCE = 8, 10  # IR versions


def functions(opset, ir):
    """Bodies without types: with a constant, with an attribute of the caller's, one that calls another, and of another
    domain one that does so in a branch, one in a loop that has an operand which it does not read. From IR version 10 on
    there are two that differ in their overload alone."""
    if ir < FUNCTIONS_SINCE:
        return []
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1), helper.make_opsetid("com.acme.nn", 1)]

    def function(domain, name, inputs, outputs, nodes, **more):
        return helper.make_function(domain, name, inputs, outputs, nodes, imports, **more)

    half = helper.make_node("Constant", [], ["half"], value_float=0.5)
    squash = function("local", "Squash", ["x"], ["y"], [
        half, helper.make_node("Mul", ["x", "half"], ["scaled"]), helper.make_node("Tanh", ["scaled"], ["y"])])
    blend = function("local", "Blend", ["a", "b"], ["sum", "bent"], [
        helper.make_node("Squash", ["a"], ["small"], domain="local"), helper.make_node("Add", ["small", "b"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["bent"])])

    factor = helper.make_node("Constant", [], ["factor"])
    reference = factor.attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "value_float", "alpha", AttributeProto.FLOAT
    scale = function("com.acme.nn", "Scale", ["x"], ["y"], [factor, helper.make_node("Mul", ["x", "factor"], ["y"])],
                     attributes=["alpha"])

    def branch(node):
        out = helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)
        return helper.make_graph([node], "branch", [], [out])

    choose = helper.make_node(
        "If", ["positive"], ["y"], then_branch=branch(helper.make_node("Squash", ["x"], ["kept"], domain="local")),
        else_branch=branch(helper.make_node("MatMul", ["x", "x"], ["kept"])))
    gate = function("com.acme.nn", "Gate", ["x"], ["y"], [
        half, helper.make_node("ReduceMax", ["x"], ["largest"], keepdims=0),
        helper.make_node("Greater", ["largest", "half"], ["positive"]), choose])
    def declared(**types):
        return [helper.make_tensor_value_info(name, elem, None) for name, elem in types.items()]

    turn = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Blend", ["s", "x"], ["next", ""], domain="local")],
        "turn", declared(i=TensorProto.INT64, go=TensorProto.BOOL, s=TensorProto.FLOAT),
        declared(on=TensorProto.BOOL, next=TensorProto.FLOAT))
    repeat = function("com.acme.nn", "Repeat", ["x", "unread"], ["y"], [
        helper.make_node("Constant", [], ["turns"], value_int=2),
        helper.make_node("Loop", ["turns", "", "x"], ["y"], body=turn)])
    found = [squash, blend, scale, gate, repeat]
    if ir >= OVERLOADS_SINCE:
        found += [function("local", "Bend", ["x"], ["y"], [helper.make_node(op, ["x"], ["y"])], overload=overload)
                  for op, overload in (("Relu", ""), ("Exp", "steep"))]
    return found
