#!/usr/bin/env python3
"""R8: an operand is a position in a node, never a name: with its initializers renamed, a model is decided the same way.

    renamed.py --ampc PATH [--models DIR]

Compiles each case and each real model as it is and with its initializers under names of no meaning, and compares what
`--emit decisions` says, apart from those names, at O1 and O2. Exit 1 where a decision differs.
"""

import argparse
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx

from compiler import CASES, Compiler, Mode, add_arguments, said
from modelfacts import graphs


def rename(model):
    """Gives initializers fresh names; those names by the old ones. Names of the interface stay."""
    outside = {v.name for g in graphs(model.graph) for v in [*g.input, *g.output]}
    names = [t.name for g in graphs(model.graph) for t in g.initializer if t.name not in outside]
    new = {name: f"renamed_{i}" for i, name in enumerate(dict.fromkeys(names))}
    for g in graphs(model.graph):
        for named in [*g.initializer, *g.value_info]:
            named.name = new.get(named.name, named.name)
        for n in g.node:
            n.input[:] = [new.get(i, i) for i in n.input]
    return new


def decisions(compiler, path, mode):
    done = compiler.run(path, mode=mode, more=["--emit", "decisions"])
    return (done.stdout, "") if done.returncode == 0 else ("", said(done))


def compare(compiler, path, folder):
    """What is wrong, and how many initializers were renamed."""
    model = onnx.load(path)
    new = rename(model)
    other = folder / path.name
    onnx.save(model, other)
    old = {v: k for k, v in new.items()}

    def back(text):
        return re.sub(r"renamed_\d+", lambda m: old.get(m[0], m[0]), text)

    for level in ("O1", "O2"):
        before, fault = decisions(compiler, path, Mode("fp16", level))
        after, other_fault = decisions(compiler, other, Mode("fp16", level))
        if fault or other_fault:
            return f"{path.stem} {level}: {fault or other_fault}", 0
        if sorted(before.splitlines()) != sorted(back(after).splitlines()):
            lines = set(before.splitlines()) ^ set(back(after).splitlines())
            return f"{path.stem} {level}: " + "; ".join(sorted(lines)[:4]), 0
    return "", len(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--models", type=Path, help="folder of the real models")
    args = parser.parse_args()
    compiler = Compiler(args.ampc).require_rules()
    # A model that mixes initializers of one name in sibling graphs, or has its data outside, is no subject here.
    paths = sorted(p for p in CASES.glob("*.onnx") if not p.with_suffix(".data").exists())
    paths += sorted(args.models.glob("*.onnx")) if args.models else []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda p: compare(compiler, p, Path(folder)), paths))
    faults = [fault for fault, _ in results if fault]
    print(*faults, sep="\n")
    print(f"{len(paths) - len(faults)} of {len(paths)} models are decided alike; "
          f"{sum(count for _, count in results)} initializers renamed")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
