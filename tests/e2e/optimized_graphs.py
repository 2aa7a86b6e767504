#!/usr/bin/env python3
"""Graphs that onnxruntime's optimizer wrote, in its own operators, compiled and held against what they were.

    optimized_graphs.py --ampc PATH [--models DIR]

The small real models and a transformer made here. What the optimizer writes is declared, so no operator is a wall, and
the products of the transformer are low.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from compiler import MODELS_LIST, Compiler, Mode, add_arguments, said
from matrix import SMALL_MODELS, Judge, Subject, only_told

MODES = [Mode("fp16", "O1"), Mode("fp16", "O2"), Mode("bf16", "O1")]
# Operators that the optimizer writes into a graph, and a mode in which all of them are low.
EXPECTED = {"transformer": [("FusedMatMul", MODES[0]), ("Gelu", MODES[0]), ("SkipLayerNormalization", MODES[1])],
            "root_mean_square": [("SimplifiedLayerNormalization", MODES[1])]}
WIDTH, HEADS, TOKENS, WIDE = 32, 4, 6, 64

# Two blocks of an encoder, as exporters write them.
BLOCK = """
  {0}q_ = MatMul ({0}x, {0}wq)   {0}q1 = Add ({0}q_, {0}bq)   {0}q2 = Reshape ({0}q1, split)
  {0}k_ = MatMul ({0}x, {0}wk)   {0}k1 = Add ({0}k_, {0}bk)   {0}k2 = Reshape ({0}k1, split)
  {0}v_ = MatMul ({0}x, {0}wv)   {0}v1 = Add ({0}v_, {0}bv)   {0}v2 = Reshape ({0}v1, split)
  {0}q = Transpose <perm = [0, 2, 1, 3]> ({0}q2)
  {0}k = Transpose <perm = [0, 2, 3, 1]> ({0}k2)
  {0}v = Transpose <perm = [0, 2, 1, 3]> ({0}v2)
  {0}s0 = MatMul ({0}q, {0}k)    {0}s1 = Div ({0}s0, root)    {0}p = Softmax <axis = -1> ({0}s1)
  {0}c0 = MatMul ({0}p, {0}v)    {0}c1 = Transpose <perm = [0, 2, 1, 3]> ({0}c0)   {0}c2 = Reshape ({0}c1, join)
  {0}o0 = MatMul ({0}c2, {0}wo)  {0}o1 = Add ({0}o0, {0}bo)   {0}a0 = Add ({0}o1, {0}x)
  {0}a = LayerNormalization <axis = -1, epsilon = 0.00001> ({0}a0, {0}g1, {0}h1)
  {0}f0 = MatMul ({0}a, {0}w1)   {0}f1 = Add ({0}f0, {0}b1)
  {0}e0 = Div ({0}f1, sqrt2)     {0}e1 = Erf ({0}e0)          {0}e2 = Add ({0}e1, one)
  {0}e3 = Mul ({0}f1, {0}e2)     {0}e4 = Mul ({0}e3, half)
  {0}d0 = MatMul ({0}e4, {0}w2)  {0}d1 = Add ({0}d0, {0}b2)   {0}r0 = Add ({0}d1, {0}a)
  {0}y = LayerNormalization <axis = -1, epsilon = 0.00001> ({0}r0, {0}g2, {0}h2)
"""


def transformer():
    body = BLOCK.format("m_") + BLOCK.format("n_").replace("n_x", "m_y")
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    encoder (float[1,{TOKENS},{WIDTH}] m_x) => (float[1,{TOKENS},{WIDTH}] n_y) {{ {body} }}"""
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(7)
    weights = {"split": np.array([1, TOKENS, HEADS, WIDTH // HEADS]), "join": np.array([1, TOKENS, WIDTH]),
               "root": np.float32((WIDTH / HEADS) ** 0.5), "sqrt2": np.float32(2 ** 0.5), "one": np.float32(1),
               "half": np.float32(0.5)}
    for block in ("m_", "n_"):
        for name, shape in [("wq", (WIDTH, WIDTH)), ("wk", (WIDTH, WIDTH)), ("wv", (WIDTH, WIDTH)),
                            ("wo", (WIDTH, WIDTH)), ("w1", (WIDTH, WIDE)), ("w2", (WIDE, WIDTH)), ("bq", (WIDTH,)),
                            ("bk", (WIDTH,)), ("bv", (WIDTH,)), ("bo", (WIDTH,)), ("b1", (WIDE,)), ("b2", (WIDTH,)),
                            ("h1", (WIDTH,)), ("h2", (WIDTH,))]:
            weights[block + name] = rng.normal(0, shape[0] ** -0.5, shape).astype(np.float32)
        weights[block + "g1"] = weights[block + "g2"] = np.ones(WIDTH, np.float32)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    onnx.checker.check_model(model, full_check=True)
    return model


def root_mean_square():
    """What the optimizer fuses into an operator that ONNX's own domain has not."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[1,{TOKENS},{WIDTH}] x) => (float[1,{TOKENS},{WIDTH}] y) {{
      q = Pow (x, two)       m = ReduceMean <axes = [-1], keepdims = 1> (q)    e = Add (m, epsilon)    r = Sqrt (e)
      d = Div (x, r)         n = Mul (d, scale)                                f = MatMul (n, w)       y = Add (f, x)
    }}"""
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(7)
    weights = {"two": np.float32(2), "epsilon": np.float32(1e-5), "scale": np.ones(WIDTH, np.float32),
               "w": rng.normal(0, WIDTH ** -0.5, (WIDTH, WIDTH)).astype(np.float32)}
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return model


def optimize(path, out):
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def own_operators(path):
    """Operators that onnx has not, in every graph; with SimplifiedLayerNormalization no model passes onnx's checker."""
    def walk(graph):
        for node in graph.node:
            if node.domain.startswith("com.") or node.op_type == "SimplifiedLayerNormalization":
                yield node.op_type
            for attribute in node.attribute:
                for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    yield from walk(inner)

    return sorted(walk(onnx.load(path, load_external_data=False).graph))


def low_operators(program, model, mode):
    done = program.run(model, mode=mode, more=["--emit", "decisions"])
    return re.findall(rf"^node \S+ (\w+) {mode.dtype}:", done.stdout, re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--models", type=Path, help="folder of the real models")
    args = parser.parse_args()
    program = Compiler(args.ampc, args.rules).require_rules()
    judge = Judge()
    failures, results, written = [], 0, set()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        subjects = []
        for name, value, model in (("transformer", "m_x", transformer()), ("root_mean_square", "x", root_mean_square())):
            path, spec = folder / f"{name}.onnx", folder / f"{name}.json"
            onnx.save(model, path)
            spec.write_text(json.dumps({"name": name, "feeds": {
                value: {"shape": [1, TOKENS, WIDTH], "dtype": "float32", "lo": -1.0, "hi": 1.0}}}))
            subjects.append(Subject(name, path, spec, None, "baseline", False))
        for entry in json.loads(MODELS_LIST.read_text()):
            path = args.models / f"{entry['name']}.onnx" if args.models else None
            if path and path.exists() and entry["name"] in SMALL_MODELS:
                subjects.append(Subject(entry["name"], path, MODELS_LIST, entry["name"], "real", True))
        for subject in subjects:
            optimized = folder / f"{subject.name}.optimized.onnx"
            optimize(subject.path, optimized)
            own = own_operators(optimized)
            written |= set(own)
            print(f"{subject.name}: {', '.join(own) or 'no operators of its own'}")
            for mode in MODES:
                results += 1
                out = folder / f"{subject.name}.out.onnx"
                what = f"{subject.name} [{mode}]"
                done = program.run(optimized, out, mode)
                if done.returncode != 0 or "AMPC1013" in done.stderr or "AMPC1028" in done.stderr:
                    failures.append(f"{what}: {said(done)}")
                    continue
                accepted = {"rtol": 0.1, "cosine": 0.99} if mode.dtype == "bf16" else {"cosine": 0.999}
                answer = judge.ask(original=str(optimized), converted=str(out), spec=str(subject.spec), name=subject.entry,
                                   io="keep", **accepted)
                missed = set() if answer["verdict"] == "ok" else set(answer["verdict"].split(","))
                missed -= only_told(subject, mode) | ({"checker"} if "SimplifiedLayerNormalization" in own else set())
                failures += [f"{what}: {check}: {answer.get(check)}" for check in sorted(missed)]
            for name, mode in EXPECTED.get(subject.name, []):
                low = low_operators(program, optimized, mode)
                if own.count(name) == 0 or low.count(name) != own.count(name):
                    failures.append(f"{subject.name} [{mode}]: {low.count(name)} of {own.count(name)} {name} are low")
    judge.close()
    for failure in failures:
        print("FAILED:", failure)
    print(f"{results} results over {len(subjects)} models, {len(written)} operators of onnxruntime's own met")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
