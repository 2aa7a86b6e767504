#!/usr/bin/env python3
"""Random valid graphs, compiled in random modes by random rules, must stay valid and keep the invariants.

    random_graphs.py --ampc PATH [--count N] [--seed N] [--save DIR]

Every run draws other graphs, 200 of them or 500 under AMPC_FULL=1, and prints its seed.

Of each graph, drawn by graph_maker.py: full check and strict inference; the same nodes on the same values; inputs and
outputs as asked; the same bytes at -j1 and -j4; no cast twice, no new round trip; under `gray cut` no more casts than
without; compiling the result again changes nothing (but under the cut); level O0 is the identity.
Half of them are compiled by the rules that ship, half by a file drawn by rule_maker.py that adds to those.
Seed and failing graphs are told: graph i of a run is `--seed SEED+i --count 1`.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import onnx

import graph_maker
import modelfacts
import rule_maker
import skeleton
from compiler import ALL_MODES, Compiler, Mode, add_arguments, said


class Broken(Exception):
    """An invariant that does not hold."""


def expect(holds, text):
    if not holds:
        raise Broken(text)


class Refused(Exception):
    """The drawn rules make an error of what the model has."""


def compiled(compiler, model, out, mode, more, rules=None):
    done = compiler.run(model, out, mode, [*more, *(rules.where if rules else [])], rules=rules, timeout=120)
    if done.returncode == 1 and rules is not None and rules.may_refuse:
        raise Refused
    expect(done.returncode == 0, f"{' '.join(map(str, more))}: {said(done)}")
    return out.read_bytes()


class Rules:
    """A drawn rule file."""

    def __init__(self, compiler, model, rng, path):
        self.path = path
        self.where = ["-I", Path(compiler.rules).parent]
        text, statements = rule_maker.make(rng, model, Path(compiler.rules).name, lambda text: self.takes(compiler, text))
        path.write_text(text)
        self.kinds = [s.kind for s in statements]
        self.once = any(s.once for s in statements)
        # Two scopes may hold at one node and say different things of it.
        self.may_refuse = any(s.may_refuse for s in statements) or sum(k in ("scope", "block") for k in self.kinds) > 1

    def __str__(self):
        return str(self.path)

    def takes(self, compiler, text):
        self.path.write_text(text)
        done = compiler.check_rules(self, self.where)
        expect(done.returncode in (0, 1), f"the rules: {said(done)}\n{text}")
        return done.returncode == 0


def check_interface(model, result, mode, rules):
    expect(modelfacts.interface_names(result) == modelfacts.interface_names(model), "inputs or outputs are renamed")
    if mode.io == "keep" and (rules is None or "io" not in rules.kinds):
        expect(modelfacts.interface(result) == modelfacts.interface(model), "inputs or outputs change their types")
    low = modelfacts.ELEMENTS[mode.dtype]
    for before, after in zip([*model.graph.input, *model.graph.output], [*result.graph.input, *result.graph.output]):
        types = [v.type.tensor_type.elem_type for v in (before, after)]
        expect(types in ([types[0]] * 2, [onnx.TensorProto.FLOAT, low]), f"'{before.name}' becomes {types[1]}")


def check(compiler, model, rng, folder):
    """Compiles one graph and raises Broken at the first invariant that fails. Returns what was drawn of rules."""
    mode = rng.choice([mode for mode in ALL_MODES if not mode.opset])
    promote = rng.choice([[], ["--promote"], ["--no-promote"]])
    before, after, again = folder / "model.onnx", folder / "low.onnx", folder / "again.onnx"
    onnx.save(model, before)
    rules = Rules(compiler, model, rng, folder / "rules.amp") if rng.random() < 0.5 else None
    if rules is not None and "level" in rules.kinds:
        mode = dataclasses.replace(mode, level=rule_maker.LEVEL)
    try:
        one = compiled(compiler, before, after, mode, ["-j1", *promote], rules)
        expect(compiled(compiler, before, after, mode, ["-j4", *promote], rules) == one, "-j1 and -j4 make different files")
        compiled(compiler, before, after, mode, ["--emit", "decisions", *promote], rules)
        result = onnx.load_model_from_string(one)
        try:
            onnx.checker.check_model(str(after), full_check=True)
            modelfacts.infer_strictly(after)
        except Exception as error:
            raise Broken(f"the result is not valid: {str(error).strip()[:600]}") from error

        try:
            skeleton.require_equal(model, result)
        except skeleton.Differs as difference:
            raise Broken(f"the result computes something else: {difference}") from difference
        check_interface(model, result, mode, rules)
        had, has = modelfacts.casts(model), modelfacts.casts(result)
        expect(has.duplicates <= had.duplicates, f"{has.duplicates - had.duplicates} values are cast twice")
        new = has.round_trips - had.round_trips
        expect(not new, f"fp32 to low and back, through {', '.join(sorted(new))}")

        if mode.gray == "cut" and rules is None:
            for way in ("--promote", "--no-promote"):
                compiled(compiler, before, again, dataclasses.replace(mode, gray="local"), ["-j1", way])
                casts = modelfacts.casts(onnx.load(again)).count
                expect(has.count <= casts, f"the cut makes {has.count} casts, {way} {casts}")
        # The cut looks at all open nodes at once, and a second compilation finds other ones open. A call that was put in
        # place has no name left that rules could mean.
        inlined = bool(model.functions) and (mode.functions == "inline" or rules is not None and "functions" in rules.kinds)
        if mode.gray != "cut" and (rules is None or not (rules.once or inlined)):
            compiled(compiler, after, again, mode, ["-j1", *promote], rules)
            changes = modelfacts.differences(result, onnx.load(again))
            expect(not changes, f"compiling the result again changes {', '.join(changes[:5])}")
        compiled(compiler, before, again, Mode(mode.dtype, "O0", "keep"), ["-j1"])
        changes = modelfacts.differences(model, onnx.load(again))
        expect(not changes, f"level O0 changes {', '.join(changes[:5])}")
    except Refused:
        pass
    except Broken as broken:
        raise Broken(f"[{' '.join([str(mode), *promote])}] {broken}") from broken
    return rules.kinds if rules is not None else []


LIMIT = 120  # seconds a graph
PROCESSES = multiprocessing.get_context("forkserver")  # forking from a thread could inherit a lock that is held
PROCESSES.set_forkserver_preload(["onnx", "onnx.checker", "onnx.shape_inference", "graph_maker", "modelfacts", "rule_maker", "skeleton"])


def one(seed, program, rules, save, pipe):
    """Sends the operators drawn once there is a graph, then the statements drawn and what failed, or None."""
    rng = random.Random(seed)
    model, used = graph_maker.make(rng, rng.choice([2, 4, 8, 12, 20, 40]))
    pipe.send(used)
    failure, statements = None, []
    with tempfile.TemporaryDirectory() as folder:
        try:
            statements = check(Compiler(program, rules), model, rng, Path(folder))
        except Broken as broken:
            save.mkdir(parents=True, exist_ok=True)
            path = save / f"random_{seed}.onnx"
            onnx.save(model, path)
            failure = f"{broken}\n    the graph: {path}"
            if (Path(folder) / "rules.amp").exists():
                shutil.copy(Path(folder) / "rules.amp", path.with_suffix(".amp"))
                failure += f", the rules: {path.with_suffix('.amp')}"
    pipe.send((statements, failure))


def run(task):
    """(seed, operators drawn, statements drawn, failure or None); a process a graph, since onnx's checker crashes on some that are drawn."""
    seed = task[0]
    here, there = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=one, args=(*task, there), daemon=True)
    process.start()
    there.close()
    said = []
    try:
        while len(said) < 2:
            if not here.poll(LIMIT):
                process.kill()
                return seed, said[0] if said else (), (), f"no end in {LIMIT} seconds"
            said.append(here.recv())
    except EOFError:
        process.join()
        if not said:
            return seed, None, (), None
        return seed, said[0], (), f"the check of the result died with code {process.exitcode}"
    process.join()
    return seed, said[0], *said[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--count", type=int, default=500 if os.environ.get("AMPC_FULL") else 200)
    parser.add_argument("--seed", type=int, default=None, help="default: another one each run")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--save", type=Path, default=Path(tempfile.gettempdir()) / "ampc-random-graphs")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}, {args.count} graphs", flush=True)

    Compiler(args.ampc, args.rules).require_rules()
    tasks = [(seed + i, args.ampc, args.rules, args.save) for i in range(args.count)]
    operators, statements, failures, undrawn = collections.Counter(), collections.Counter(), [], 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for at, used, said_of_it, failure in pool.map(run, tasks):
            if used is None:
                undrawn += 1
                print(f"--seed {at}: onnx's checker died on the graph that was drawn; left out", flush=True)
                continue
            operators.update(used)
            statements.update(said_of_it)
            if failure:
                failures.append(failure)
                print(f"FAILED: --seed {at} --count 1: {failure}", flush=True)
    drawn = args.count - undrawn
    print(f"{drawn - len(failures)} of {drawn} graphs hold; {len(operators)} operators and {len(statements)} kinds of rules drawn; seed {seed}")
    return int(bool(failures) or drawn == 0)


if __name__ == "__main__":
    sys.exit(main())
