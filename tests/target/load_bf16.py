#!/usr/bin/env python3
"""With `--target ort-cpu`, what is compiled to bf16 loads and runs in onnxruntime's CPU wherever its original does.

    load_bf16.py --ampc PATH [--models DIR] [--graphs N] [--seed N]

Every case of tests/cases and the real models in DIR (the small ones; all of them where AMPC_FULL is set), at every level,
inputs and outputs kept and low, and N drawn graphs. Each is compiled without the profile too: some must then not load, or
this test would show nothing. Exit 1 where one fails, 77 where the profile is of another onnxruntime.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from pathlib import Path

import onnx
import onnxruntime

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from compiler import ALL_MODES, CASES, MODELS_LIST, Compiler, Mode, add_arguments, said  # noqa: E402
from feeds import feeds  # noqa: E402
import graph_maker  # noqa: E402

SMALL = ("silero_vad", "rapidocr_cls_v2", "onnxasr_whisper80_stft", "magika_v3_3")
PROFILE = Path(__file__).resolve().parents[2] / "rules" / "target" / "ort-cpu.amp"
# At another opset the runtime lacks kernels that the model itself asks for.
MODES = [mode for mode in ALL_MODES if mode.dtype == "bf16" and not mode.opset]


def fault(path, given=None):
    """What the runtime says against a model; None where it loads, and runs on what is given."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        if given is not None:
            session.run(None, given)
    except Exception as error:
        return " ".join(str(error).split())[:200]
    return None


def subjects(args, folder):
    """(name, path, inputs or None)"""
    for spec in sorted(args.cases.glob("*.json")):
        yield spec.stem, spec.with_suffix(".onnx"), feeds(json.loads(spec.read_text()))
    for entry in json.loads(MODELS_LIST.read_text()) if args.models else []:
        if os.environ.get("AMPC_FULL") or entry["name"] in SMALL:
            yield entry["name"], args.models / f"{entry['name']}.onnx", feeds(entry)
    for i in range(args.graphs):
        model, _ = graph_maker.make(random.Random(args.seed + i), 8)
        path = folder / f"drawn{args.seed + i}.onnx"
        onnx.save(model, path)
        yield path.stem, path, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--graphs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7000)
    args = parser.parse_args()
    if f"# Measured with onnxruntime {onnxruntime.__version__} " not in PROFILE.read_text():
        print(f"rules/target/ort-cpu.amp is of another version than onnxruntime {onnxruntime.__version__}")
        return 77
    onnxruntime.set_default_logger_severity(4)
    compiler = Compiler(args.ampc, args.rules).require_rules()
    failures, results, changed, refused = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        out = folder / "out.onnx"
        for name, path, given in subjects(args, folder):
            if fault(path, given) is not None:
                continue
            for mode in MODES:
                done = compiler.run(path, out, mode, ["--target", "ort-cpu", "-I", str(PROFILE.parents[1])])
                # numpy and the runtime exchange no bf16.
                wrong = said(done) if done.returncode else fault(out, given if mode.io == "keep" else None)
                results += 1
                changed += " 0 nodes bf16" not in done.stderr
                if wrong:
                    failures.append(f"{name} [{mode}] {wrong}")
            if compiler.run(path, out, Mode("bf16", "O2")).returncode == 0:
                refused += fault(out) is not None
    for failure in failures:
        print("FAILED:", failure)
    print(f"{results - len(failures)} of {results} bf16 results load and run with the profile, {changed} of them with nodes in "
          f"bf16; without it {refused} models are refused")
    return int(bool(failures) or not changed or not refused)


if __name__ == "__main__":
    sys.exit(main())
