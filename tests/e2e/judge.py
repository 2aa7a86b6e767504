#!/usr/bin/env python3
"""Holds a converted model against its original.

    judge.py ORIGINAL CONVERTED --spec SPEC.json [--name ENTRY] [--io keep|low] [--rtol R] [--cosine C] [--strict]
    judge.py --serve        reads such requests as JSON lines, answers each with a line

SPEC is a case file of tests/cases, or tests/models/models.json with --name. Prints one JSON object; the exit status is
0 where its "verdict" is "ok", which otherwise lists the checks that failed:

  checker        onnx's full check, then strict inference with data propagation (where the original passes that)
  io             inputs and outputs: names, types, shapes as before; names alone under --io low
  dup_casts      a value cast to one type twice in a graph
  round_trips    fp32 -> low -> fp32 that was not in the original
  load           onnxruntime on the CPU takes it, its optimiser off
  numbers        and computes what it computes for the original in fp32. This runtime computes many fp16 operators in
                 fp32, so:
  strict         the same by onnx's reference evaluator, which rounds after every operator (--strict; for small models)

"optimised" tells, without a verdict, what the runtime's optimiser makes of it (--optimised).
"""

import argparse
import json
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto

from feeds import feeds
import modelfacts

SEEDS = (0, 1, 2)
NUMPY_LOW = {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}
# No reference there: it ignores stash_type in the norms, and random operators have no one value.
NOT_IN_EVALUATOR = {"LayerNormalization", "RMSNormalization", "GroupNormalization", "RandomNormal", "RandomUniform",
                    "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}
STRICT_INFERENCE_LIMIT = 1 << 28  # bytes of weights; beyond that inference's own copies are too much


class Unjudged(Exception):
    """A check that has nothing to say of this model, and why."""


# --- numbers ---------------------------------------------------------------------------------------------------------

def as_array(value):
    """A tensor as it is; a sequence of maps or tensors as a matrix."""
    if isinstance(value, (list, tuple)):
        rows = [list(v.values()) if isinstance(v, dict) else np.asarray(v, np.float64).ravel() for v in value]
        return np.array(rows, np.float64)
    return np.asarray(value)


def compare(got, want, rtol):
    """(what differs, or None within tolerance; cosine of the finite elements)."""
    got, want = as_array(got), as_array(want)
    if got.shape != want.shape:
        return f"shape {got.shape} for {want.shape}", 0.0
    if want.dtype.kind != "f" and want.dtype.name != "bfloat16":
        differing = float(np.mean(got != want)) if want.size else 0.0
        return (f"{differing:.2%} of integers differ" if differing else None), 1.0

    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    lost = int(np.count_nonzero(finite & ~np.isfinite(got)))
    if lost:
        return f"{lost} non-finite", 0.0
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return "an infinity or NaN of the original is lost", 0.0

    got, want = got[finite], want[finite]
    lengths = np.linalg.norm(got) * np.linalg.norm(want)
    cosine = float(got @ want / lengths) if lengths else float(np.array_equal(got, want))
    largest = np.abs(want).max(initial=0)
    # Relative, with room for cancellation against the tensor's own size, and for fp16's subnormals below 1e-5.
    allowed = rtol * np.abs(want) + rtol / 4 * largest + 1e-5
    error = np.abs(got - want)
    over = error > allowed
    if not over.any():
        return None, cosine
    return f"max error {error.max():.3g} of {largest:.3g}, {over.mean():.1%} over", cosine


# --- engines ---------------------------------------------------------------------------------------------------------

def session(path, optimise=False):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    # Off: it crashes on some valid fp16 models.
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def evaluator(path):
    from onnx.reference import ReferenceEvaluator
    return ReferenceEvaluator(onnx.load(path))


class Original:
    """The model before, its inputs, and what it computes for them. Kept while a run judges its conversions."""

    def __init__(self, path, spec):
        self.path = path
        self.spec = spec
        self.model = onnx.load(path, load_external_data=False)
        self.casts = modelfacts.casts(self.model)
        self.input_types = {v.name: v.type.tensor_type.elem_type for v in self.model.graph.input}
        self._session = None
        self._outputs = {}
        self._infers = None
        self._evaluator_agrees = {}

    @property
    def session(self):
        if self._session is None:
            self._session = session(self.path)
        return self._session

    def output_names(self):
        return [o.name for o in self.session.get_outputs()]

    def infers(self):
        if self._infers is None:
            try:
                modelfacts.infer_strictly(self.path)
                self._infers = True
            except Exception:  # whatever inference cannot do with the original, it need not do with the result
                self._infers = False
        return self._infers

    def run(self, seed, low_inputs):
        """(inputs as the converted model takes them, outputs of the original for the same values in fp32)."""
        given = feeds(self.spec, seed)
        lowered = {k: given[k].astype(NUMPY_LOW[t]) for k, t in low_inputs.items() if k in given}
        key = (seed, tuple(sorted(low_inputs.items())))
        if key not in self._outputs:
            raised = {k: v.astype(np.float32) for k, v in lowered.items()}
            self._outputs[key] = self.session.run(None, {**given, **raised})
        return {**given, **lowered}, self._outputs[key]

    def evaluator_agrees(self, rtol):
        """Whether onnx's evaluator computes for the original what the runtime does."""
        if rtol not in self._evaluator_agrees:
            inputs, want = self.run(0, {})
            got = evaluator(self.path).run(None, inputs)
            self._evaluator_agrees[rtol] = all(compare(g, w, rtol)[0] is None for g, w in zip(got, want))
        return self._evaluator_agrees[rtol]


# --- checks ----------------------------------------------------------------------------------------------------------

def check_valid(original, path, model):
    try:
        onnx.checker.check_model(str(path), full_check=True)
        if sum(modelfacts.weight_bytes(model).values()) < STRICT_INFERENCE_LIMIT and original.infers():
            modelfacts.infer_strictly(path)
        return "ok"
    except Exception as error:
        return str(error).strip()[:300]


def check_io(original, model, io):
    if modelfacts.interface_names(original.model) != modelfacts.interface_names(model):
        return "changed"
    same = modelfacts.interface(original.model) == modelfacts.interface(model)
    return "ok" if same or io == "low" else "changed"


def run_all(original, run, low_inputs, rtol, cosine_accepted):
    """(first difference or None, least cosine) over the seeds."""
    first, cosines = None, []
    for seed in SEEDS:
        inputs, want = original.run(seed, low_inputs)
        with np.errstate(all="ignore"):
            got = run(None, inputs)
        for name, g, w in zip(original.output_names(), got, want):
            difference, cosine = compare(g, w, rtol)
            cosines.append(cosine)
            if difference and not (cosine_accepted and cosine >= cosine_accepted) and first is None:
                first = f"{name}: {difference}"
    return first, round(min(cosines, default=1.0), 6)


def strict_run(original, path, model, rtol):
    unknown = {n.op_type for g in modelfacts.graphs(model.graph) for n in g.node} & NOT_IN_EVALUATOR
    if unknown:
        raise Unjudged(f"the evaluator is no reference for {', '.join(sorted(unknown))}")
    if not original.evaluator_agrees(rtol):
        raise Unjudged("the evaluator and the runtime differ on the original")
    return evaluator(path).run


def judge(original, path, io="keep", rtol=2e-2, cosine=None, strict=False):
    """The JSON object that the file's heading describes."""
    model = onnx.load(path, load_external_data=False)
    result, failed = {}, []

    def note(check, text):
        result[check] = text
        if text != "ok" and not text.startswith("n/a"):
            failed.append(check)

    note("checker", check_valid(original, path, model))
    note("io", check_io(original, model, io))
    now = modelfacts.casts(model)
    result["casts_added"] = now.count - original.casts.count
    result["dup_casts"] = max(0, now.duplicates - original.casts.duplicates)
    result["round_trips"] = len(now.round_trips - original.casts.round_trips)
    failed += [check for check in ("dup_casts", "round_trips") if result[check]]
    result["weights_before"] = modelfacts.weight_bytes(original.model)
    result["weights_after"] = modelfacts.weight_bytes(model)

    candidate = None
    try:
        candidate = session(path)
        note("load", "ok")
    except Exception as error:
        text = str(error)
        # It has hardly a bf16 kernel, and no fault of the model is told by that.
        no_kernel = "NOT_IMPLEMENTED" in text and ("bfloat16" in text or modelfacts.holds(model, TensorProto.BFLOAT16))
        note("load", f"n/a: this runtime has no such bf16 kernel: {text.strip()[-100:]}" if no_kernel else text.strip()[-300:])

    low_inputs = {v.name: v.type.tensor_type.elem_type for v in model.graph.input
                  if v.type.tensor_type.elem_type in modelfacts.LOW
                  and original.input_types.get(v.name) == TensorProto.FLOAT}
    if candidate is not None:
        try:
            outputs = [v.type.tensor_type.elem_type for v in model.graph.output]
            if TensorProto.BFLOAT16 in [*low_inputs.values(), *outputs]:
                raise Unjudged("the runtime exchanges no bf16 with numpy")
            difference, least = run_all(original, candidate.run, low_inputs, rtol, cosine)
            note("numbers", difference or "ok")
            result["numbers_cosine"] = least
        except Unjudged as why:
            note("numbers", f"n/a: {why}")
        except Exception as error:
            note("numbers", f"{type(error).__name__} {str(error)[:200]}")
    if strict:
        try:
            difference, least = run_all(original, strict_run(original, path, model, rtol), low_inputs, rtol, cosine)
            note("strict", difference or "ok")
            result["strict_cosine"] = least
        except Exception as why:  # the evaluator lacks operators; that is no fault of the model
            kind = "" if isinstance(why, Unjudged) else f"{type(why).__name__} "
            note("strict", f"n/a: {kind}{str(why)[:200]}")
    result["verdict"] = ",".join(failed) or "ok"
    return result


def optimised(args):
    """Runs the converted model with the runtime's optimiser on, in a process of its own: it may abort."""
    command = [sys.executable, os.path.abspath(__file__), args.original, args.converted, "--spec", args.spec,
               "--run-optimised"] + (["--name", args.name] if args.name else [])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode < 0:
        return f"crash {done.returncode}"
    return "ok" if done.returncode == 0 else done.stderr.strip()[-150:]


# --- command line ----------------------------------------------------------------------------------------------------

def read_spec(path, name):
    with open(path) as file:
        spec = json.load(file)
    return next(e for e in spec if e["name"] == name) if isinstance(spec, list) else spec


def serve():
    """One request a line. Libraries that print to stdout must not disturb the answers."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    original = None
    for line in sys.stdin:
        request = json.loads(line)
        path, converted = request.pop("original"), request.pop("converted")
        spec = read_spec(request.pop("spec"), request.pop("name", None))
        try:
            if original is None or original.path != path:
                original = Original(path, spec)
            result = judge(original, converted, **request)
        except Exception as error:
            result = {"verdict": "judge", "judge": f"{type(error).__name__} {str(error)[:300]}"}
        print(json.dumps(result), file=answers, flush=True)
    return 0


def main():
    if sys.argv[1:] == ["--serve"]:
        return serve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("original")
    parser.add_argument("converted")
    parser.add_argument("--spec", required=True)
    parser.add_argument("--name", help="an entry of models.json")
    parser.add_argument("--io", choices=("keep", "low"), default="keep")
    parser.add_argument("--rtol", type=float, default=2e-2)
    parser.add_argument("--cosine", type=float, help="accept a miss of rtol where the output reaches this cosine")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--optimised", action="store_true")
    parser.add_argument("--run-optimised", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    spec = read_spec(args.spec, args.name)
    if args.run_optimised:
        session(args.converted, optimise=True).run(None, feeds(spec))
        return 0
    result = judge(Original(args.original, spec), args.converted, args.io, args.rtol, args.cosine, args.strict)
    if args.optimised and result.get("load") == "ok":
        result["optimised"] = optimised(args)
    print(json.dumps(result))
    return int(result["verdict"] != "ok")


if __name__ == "__main__":
    sys.exit(main())
