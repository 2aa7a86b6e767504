#!/usr/bin/env python3
"""Shows what a compilation did to a model: its size, and its results beside the original's in onnxruntime.

    compare.py ORIGINAL.onnx COMPILED.onnx [NAME]

NAME is an entry of tests/models/models.json, which says what inputs look like; without it they are normal noise.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS / "e2e"))
from feeds import feeds  # noqa: E402


def noise(session):
    """Float inputs of any model; what a dimension does not say is 1."""
    rng = np.random.default_rng(0)
    return {i.name: rng.normal(size=[d if isinstance(d, int) else 1 for d in i.shape]).astype(np.float32)
            for i in session.get_inputs()}


def open_session(path):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    before, after = Path(sys.argv[1]), Path(sys.argv[2])
    sizes = [path.stat().st_size for path in (before, after)]
    print(f"size      {sizes[0]:>12,} bytes before\n          {sizes[1]:>12,} bytes after ({sizes[1] / sizes[0]:.0%})")

    onnxruntime.set_default_logger_severity(3)
    original = open_session(before)
    try:
        compiled = open_session(after)
    except Exception as error:
        if "bfloat16" not in str(error):
            raise
        print("results   onnxruntime's CPU has no bf16 kernel for this model, so they are not compared")
        return
    inputs = noise(original)
    if len(sys.argv) == 4:
        inputs = feeds(next(e for e in json.loads((TESTS / "models" / "models.json").read_text()) if e["name"] == sys.argv[3]))
    for output, want, got in zip(original.get_outputs(), original.run(None, inputs), compiled.run(None, inputs)):
        want, got = want.astype(np.float64).ravel(), got.astype(np.float64).ravel()
        cosine = want @ got / (np.linalg.norm(want) * np.linalg.norm(got) or 1)
        print(f"output    {output.name}: cosine {cosine:.7f}, largest error {np.abs(want - got).max():.2g} "
              f"of values up to {np.abs(want).max():.3g}")


if __name__ == "__main__":
    main()
