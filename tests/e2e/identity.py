#!/usr/bin/env python3
"""What must change nothing changes nothing, on every case and the small real models.

    identity.py --ampc PATH [--models DIR]

Level O0; rules that deny every operator of the model; compiling a result again. Nodes, weights, interface, functions
and imports are compared, at every depth. And an output has the same bytes from another folder and at -j4.
Under AMPC_FULL in every mode.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx

import modelfacts
from compiler import ALL_MODES, CASES, UNCONVERTED, Compiler, Mode, add_arguments, said
from matrix import SMALL_MODELS


def operators(model):
    """Full names of every operator, those in functions too."""
    nodes = [n for g in modelfacts.graphs(model.graph) for n in g.node] + [n for f in model.functions for n in f.node]
    own = {(f.domain, f.name) for f in model.functions}
    return sorted({n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}::{n.op_type}"
                   for n in nodes if (n.domain, n.op_type) not in own})


def deny_all(model, path):
    """A rule file whose one level lowers whatever it does not deny."""
    path.write_text("amp 1\nlevel ALL { default low weights use }\nlevel ALL\ndtype fp16\n"
                    + "".join(f"deny {name}\n" for name in operators(model)))
    return path


def modes_of(index):
    """Two modes each, going round; all of them under AMPC_FULL."""
    if os.environ.get("AMPC_FULL"):
        return ALL_MODES
    return [ALL_MODES[(index + shift) % len(ALL_MODES)] for shift in (0, 5)]


class Subject:
    def __init__(self, path, modes, compiler, folder):
        self.path, self.modes, self.compiler = path, modes, compiler
        self.folder = Path(tempfile.mkdtemp(dir=folder, prefix=path.stem))
        self.model = onnx.load(path)
        self.failures = []

    def compile(self, what, model, out, mode=None, jobs=1, rules=None, cwd=None):
        done = self.compiler.run(model, out, mode, [f"-j{jobs}"], rules, cwd=cwd)
        if done.returncode != 0:
            self.failures.append(f"{self.path.stem}: {what}: {said(done)}")
        return done.returncode == 0

    def same(self, what, before, out):
        changes = modelfacts.differences(before, onnx.load(out))
        if changes:
            self.failures.append(f"{self.path.stem}: {what} changes {', '.join(changes[:4])}")

    def check(self):
        out = self.folder / "out.onnx"
        if self.compile("O0", self.path, out, Mode(level="O0")):
            self.same("O0", self.model, out)
        if self.compile("deny everything", self.path, out, rules=str(deny_all(self.model, self.folder / "deny.amp"))):
            self.same("denying every operator", self.model, out)
        for mode in self.modes:
            if not (mode.opset and self.path.stem in UNCONVERTED):
                self.twice(mode)
        return self.failures

    def twice(self, mode):
        once, again = self.folder / "once.onnx", self.folder / "again.onnx"
        if self.compile(str(mode), self.path, once, mode) and self.compile(f"{mode}, again", once, again, mode):
            self.same(f"{mode}, compiled again,", onnx.load(once), again)
            # From the model's own folder, under another spelling, with more threads.
            first = once.read_bytes()
            self.compile(f"{mode}, elsewhere", self.path.name, once, mode, 4, cwd=self.path.parent)
            if once.read_bytes() != first:
                self.failures.append(f"{self.path.stem}: {mode}: other bytes from another folder at -j4")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--cases", type=Path, default=CASES)
    args = parser.parse_args()
    compiler = Compiler(args.ampc, args.rules).require_rules()
    paths = sorted(args.cases.glob("*.onnx"))
    paths += [p for n in SMALL_MODELS if args.models and (p := args.models / f"{n}.onnx").exists()]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda at: Subject(at[1].resolve(), modes_of(at[0]), compiler, folder).check(),
                                enumerate(paths)))
    for failures in results:
        for text in failures:
            print("FAILED:", text)
    good = sum(not failures for failures in results)
    print(f"{good} of {len(paths)} models hold")
    return int(good < len(paths) or not paths)


if __name__ == "__main__":
    sys.exit(main())
