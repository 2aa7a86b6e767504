#!/usr/bin/env python3
"""Training graphs in mixed precision compute what the originals compute (R27).

    training.py --ampc PATH

tests/training holds a graph as onnxruntime's gradient builder makes it (1.19.2, opset 17). A second one is made here:
forward, backward, static loss scale, all-reduce and Adam in one model. Both run in onnx's reference evaluator, with the
few operators of com.microsoft written in numpy, and in onnxruntime where a build for training is at hand.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from compiler import REPOSITORY, Compiler, said

RULES = REPOSITORY / "rules" / "training.amp"
GRAPHS = REPOSITORY / "tests" / "training"
MICROSOFT = "com.microsoft"
LOW = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
TOLERANCE = {"fp16": 0.02, "bf16": 0.15}  # of a gradient's largest element


class MicrosoftOp(OpRun):
    op_domain = MICROSOFT


class SoftmaxCrossEntropyLossGrad(MicrosoftOp):
    def _run(self, dy, log_prob, label, reduction=None):
        onehot = np.eye(log_prob.shape[1], dtype=log_prob.dtype)[label]
        count = label.size if reduction in (None, "mean") else 1
        return ((np.exp(log_prob) - onehot) * dy / count).astype(log_prob.dtype),


class ReluGrad(MicrosoftOp):
    def _run(self, dy, x):
        return np.where(x > 0, dy, np.zeros_like(dy)),


class LayerNormalizationGrad(MicrosoftOp):
    def _run(self, dy, x, scale, mean, inverse, axis=None, epsilon=None, stash_type=None):
        wide = [a.astype(np.float32) for a in (dy, x, scale, mean, inverse)]
        dy32, x32, scale32, mean32, inverse32 = wide
        normal = (x32 - mean32) * inverse32
        d = dy32 * scale32
        dx = (d - d.mean(-1, keepdims=True) - normal * (d * normal).mean(-1, keepdims=True)) * inverse32
        rows = tuple(range(x.ndim - 1))
        return dx.astype(x.dtype), (dy32 * normal).sum(rows).astype(scale.dtype), dy32.sum(rows).astype(scale.dtype)


class InPlaceAccumulatorV2(MicrosoftOp):
    def _run(self, buffer, value, overwrite=None):
        buffer[...] = value if overwrite is not None and overwrite[0] else buffer + value
        return np.array([True]),


class AllReduce(MicrosoftOp):
    """Of one device."""

    def _run(self, x):
        return x,


OPERATORS = [SoftmaxCrossEntropyLossGrad, ReluGrad, LayerNormalizationGrad, InPlaceAccumulatorV2, AllReduce]


def evaluate(model, feeds):
    """Every value of the graph by name."""
    values = ReferenceEvaluator(model, new_ops=OPERATORS).run(None, feeds, intermediate=True)
    return {**{t.name: numpy_helper.to_array(t) for t in model.graph.initializer}, **feeds, **values}


def element_type(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


class Failed(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Failed(what)


def close(what, dtype, mine, theirs):
    mine, theirs = np.asarray(mine, np.float64), np.asarray(theirs, np.float64)
    error = np.abs(mine - theirs).max()
    largest = np.abs(theirs).max()
    require(error <= TOLERANCE[dtype] * largest + 1e-6, f"{what} is off by {error:.3g} of {largest:.3g}")


def casts_of(model, name, to):
    return [n for n in model.graph.node
            if n.op_type == "Cast" and n.input[0] == name and n.attribute[0].i == to]


def check_parameters(model, names, low):
    """A parameter is fp32 where it is stored or comes in, and is cast by one node."""
    types = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
    types.update({t.name: t.data_type for t in model.graph.initializer})
    for name in names:
        require(types[name] == TensorProto.FLOAT, f"the parameter {name} is not fp32")
        require(len(casts_of(model, name, low)) <= 1, f"the parameter {name} is cast more than once")
    require(any(casts_of(model, name, low) for name in names), "no parameter is read low")


# ---- onnxruntime's graph ----------------------------------------------------------------------------------------------

PARAMETERS = {"w1": (16, 32), "b1": (32,), "g": (32,), "be": (32,), "w2": (32, 4), "b2": (4,)}


def mlp_feeds(rng, parameters, buffers, reset):
    return {"x": rng.normal(size=(24, 16)).astype(np.float32), "labels": rng.integers(0, 4, 24),
            **parameters, **{f"{n}_grad.accumulation.buffer": b for n, b in buffers.items()},
            "lazy_reset_grad": np.array([reset])}


def check_mlp(compiled, dtype, run):
    original = onnx.load(GRAPHS / "training_model.onnx")
    low = LOW[dtype]
    rng = np.random.default_rng(1)
    parameters = {n: (0.4 * rng.normal(size=s) + (n == "g")).astype(np.float32) for n, s in PARAMETERS.items()}
    results = []
    for model in (original, compiled):
        buffers = {n: np.zeros(s, np.float32) for n, s in PARAMETERS.items()}
        data = np.random.default_rng(2)
        losses = []
        for step in range(2):  # the second is added to the first
            values = run(model, mlp_feeds(data, parameters, buffers, step == 0))
            losses.append(values["onnx::loss::2"])
        results.append((losses, buffers, values))
    (wanted_losses, wanted, _), (losses, buffers, values) = results
    for a, b in zip(losses, wanted_losses):
        require(a.dtype == np.float32, "the loss is not fp32")
        close("the loss", dtype, a, b)
    for name in PARAMETERS:
        close(f"the gradient of {name}", dtype, buffers[name], wanted[name])
    check_parameters(compiled, PARAMETERS, low)
    if len(values) < len(compiled.graph.node):
        return  # a runtime that tells outputs alone
    for node in compiled.graph.node:
        types = {element_type(values[v]) for v in [*node.input, *node.output] if v and values[v].dtype.kind != "i"}
        if node.op_type in ("MatMul", "Gemm"):
            require(types == {low}, f"{node.name} is not low")
        if node.op_type == "InPlaceAccumulatorV2":
            require(element_type(values[node.input[0]]) == TensorProto.FLOAT, f"{node.name} adds to what is not fp32")
        if node.op_type in ("SoftmaxCrossEntropyLoss", "SoftmaxCrossEntropyLossGrad"):
            require(types == {TensorProto.FLOAT}, f"{node.name} is not fp32")


# ---- a step with Adam -------------------------------------------------------------------------------------------------

STEP = {"w1": (8, 16), "b1": (16,), "w2": (16, 4), "b2": (4,)}
BATCH = 16


def step_model():
    nodes, names = [], list(STEP)

    def node(op, name, inputs, outputs, backward=False, domain="", **attributes):
        nodes.append(helper.make_node(op, inputs.split(), outputs.split(), name=name, domain=domain,
                                      doc_string="Backward pass" if backward else None, **attributes))

    node("MatMul", "fc1", "x w1", "m1")
    node("Add", "fc1_bias", "m1 b1", "a1")
    node("Relu", "act", "a1", "r1")
    node("MatMul", "fc2", "r1 w2", "m2")
    node("Add", "fc2_bias", "m2 b2", "logits")
    node("SoftmaxCrossEntropyLoss", "loss", "logits labels", "loss log_prob", reduction="mean")
    node("Exp", "loss_Grad/Exp_0", "log_prob", "p", True)
    node("OneHot", "loss_Grad/OneHot_1", "labels depth off_on", "target", True)
    node("Sub", "loss_Grad/Sub_2", "p target", "dp", True)
    node("Mul", "loss_Grad/Mul_3", "dp per_sample", "dn", True)
    node("Mul", "loss_Grad/Mul_4", "dn loss_scale", "dlogits", True)
    node("ReduceSum", "fc2_bias_Grad/ReduceSum_0", "dlogits rows", "b2_grad", True, keepdims=0)
    node("Gemm", "fc2_Grad/Gemm_0", "r1 dlogits", "w2_grad", True, transA=1)
    node("Gemm", "fc2_Grad/Gemm_1", "dlogits w2", "r1_grad", True, transB=1)
    node("Greater", "act_Grad/Greater_0", "a1 zero", "positive", True)
    node("Where", "act_Grad/Where_1", "positive r1_grad zero", "a1_grad", True)
    node("ReduceSum", "fc1_bias_Grad/ReduceSum_0", "a1_grad rows", "b1_grad", True, keepdims=0)
    node("Gemm", "fc1_Grad/Gemm_0", "x a1_grad", "w1_grad", True, transA=1)
    for n in names:
        node("AllReduce", f"reduce_{n}", f"{n}_grad", f"{n}_sum", domain=MICROSOFT)
        node("Div", f"unscale_{n}", f"{n}_sum loss_scale", f"{n}_mean")
    inputs = ["rate", "step"] + [f.format(n) for f in ("{}", "{}_mean", "{}_v", "{}_h") for n in names]
    outputs = [f.format(n) for f in ("{}_next", "{}_v_next", "{}_h_next") for n in names]
    node("Adam", "adam", " ".join(inputs), " ".join(outputs), domain="ai.onnx.preview.training",
         alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0)

    def floats(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def integers(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.INT64, shape)

    rng = np.random.default_rng(5)
    weights = {n: (0.5 * rng.normal(size=s)).astype(np.float32) for n, s in STEP.items()}
    constants = {**weights, "depth": np.array(4), "off_on": np.array([0, 1], np.float32),
                 "per_sample": np.array(1 / BATCH, np.float32), "rows": np.array([0]), "zero": np.array(0, np.float32)}
    graph = helper.make_graph(
        nodes, "step",
        [floats("x", (BATCH, 8)), integers("labels", (BATCH,)), floats("rate", ()), integers("step", ()),
         floats("loss_scale", ()), *(floats(f"{n}_{s}", STEP[n]) for s in "vh" for n in names)],
        [floats("loss", ()), *(floats(o, STEP[o.split("_")[0]]) for o in outputs)],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
        value_info=[floats(f"{n}_sum", STEP[n]) for n in names])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.preview.training", 1),
               helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def train(model, steps, loss_scale):
    """Losses, the last step's values and the parameters that come out."""
    rng = np.random.default_rng(7)
    truth = rng.normal(size=(8, 4))
    model = onnx.ModelProto.FromString(model.SerializeToString())
    stored = {t.name: t for t in model.graph.initializer}
    state = {f"{n}_{s}": np.zeros(STEP[n], np.float32) for s in "vh" for n in STEP}
    losses = []
    for step in range(steps):
        x = rng.normal(size=(BATCH, 8)).astype(np.float32)
        feeds = {"x": x, "labels": (x @ truth).argmax(-1), "rate": np.array(0.02, np.float32),
                 "step": np.array(step), "loss_scale": np.array(loss_scale, np.float32), **state}
        values = evaluate(model, feeds)
        losses.append(values["loss"])
        state = {n: values[f"{n}_next"] for n in state}
        for n in STEP:
            stored[n].CopyFrom(numpy_helper.from_array(values[f"{n}_next"], n))
    return losses, values, {n: numpy_helper.to_array(stored[n]) for n in STEP}


def check_step(compiled, dtype):
    low = LOW[dtype]
    check_parameters(compiled, STEP, low)
    _, wanted, _ = train(step_model(), 1, 1.0)
    _, values, _ = train(compiled, 1, 1024.0)
    require(values["loss"].dtype == np.float32, "the loss is not fp32")
    for n in STEP:
        close(f"the gradient of {n}", dtype, values[f"{n}_mean"], wanted[f"{n}_mean"])
        if n.startswith("b"):
            continue  # at OD a bias is added in fp32, and so its gradient is
        moved = low if dtype == "fp16" else TensorProto.FLOAT  # onnxruntime's AllReduce has no bf16
        require(element_type(values[f"{n}_sum"]) == moved, f"the all-reduce of {n} moves the wrong type")
    for node in compiled.graph.node:
        types = {element_type(values[v]) for v in [*node.input, *node.output] if values[v].dtype.kind != "i"}
        if node.op_type in ("Adam", "Div", "SoftmaxCrossEntropyLoss"):
            require(types == {TensorProto.FLOAT}, f"{node.name} is not fp32")
        if node.op_type in ("MatMul", "Gemm"):
            require(types == {low}, f"{node.name} is not low")
    wanted_losses, _, _ = train(step_model(), 40, 1.0)
    losses, _, parameters = train(compiled, 40, 1024.0)
    require(np.mean(losses[-5:]) < 0.8 * losses[0], "it does not learn")
    close("the loss after training", dtype, np.mean(losses[-5:]), np.mean(wanted_losses[-5:]))
    # A master weight keeps what the low type would round off.
    fine = parameters["w1"]
    rounded = fine.astype(helper.tensor_dtype_to_np_dtype(low)).astype(np.float32)
    require((fine != rounded).any(), "the parameters after training are of the low type")


# ---- both -------------------------------------------------------------------------------------------------------------

def training_runtime():
    """Runs a model in onnxruntime where this build knows the operators; nothing where it does not."""
    try:
        import onnxruntime
        onnxruntime.InferenceSession(str(GRAPHS / "training_model.onnx"), providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001  a build for inference says so in one of many ways
        return None

    def run(model, feeds):
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        return dict(zip(names, session.run(names, feeds)))

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", type=Path, required=True)
    args = parser.parse_args()
    compiler = Compiler(args.ampc, RULES).require_rules()
    runtime = training_runtime()
    failures = runs = 0
    with tempfile.TemporaryDirectory() as folder:
        step = Path(folder) / "step.onnx"
        onnx.checker.check_model(step_model(), full_check=True)
        onnx.save(step_model(), step)

        def check(what, model, dtype, level, judge):
            nonlocal failures, runs
            runs += 1
            out = Path(folder) / "out.onnx"
            done = compiler.run(model, out, more=["--dtype", dtype, "--level", level])
            try:
                require(done.returncode == 0, said(done))
                require("warning" not in done.stderr.replace("0 warnings", ""), said(done))
                compiled = onnx.load(out)
                onnx.checker.check_model(compiled, full_check=True)
                judge(compiled)
            except Failed as fault:
                failures += 1
                print(f"FAILED {what} {dtype} {level}: {fault}")

        def unchanged(compiled):
            require(compiled == onnx.load(GRAPHS / "optimizer_model.onnx"), "an optimizer alone has changed")

        check("optimizer", GRAPHS / "optimizer_model.onnx", "fp16", "O2", unchanged)
        for dtype in LOW:
            for level in ("O1", "O2", "OD"):
                check("mlp", GRAPHS / "training_model.onnx", dtype, level, lambda m: check_mlp(m, dtype, evaluate))
                check("step", step, dtype, level, lambda m: check_step(m, dtype))
                if runtime is not None and dtype == "fp16":
                    check("mlp in onnxruntime", GRAPHS / "training_model.onnx", dtype, level,
                          lambda m: check_mlp(m, dtype, runtime))
    print(f"{runs} runs, {failures} failed" + ("" if runtime else "; onnxruntime has no operators for training here"))
    return int(failures != 0)


if __name__ == "__main__":
    sys.exit(main())
