#!/usr/bin/env python3
"""Random valid graphs, compiled in random modes, must stay valid and keep the invariants.

    random_graphs.py --ampc PATH [--count N] [--seed N] [--save DIR]

Every run draws other graphs, 200 of them or 500 under AMPC_FULL=1, and prints its seed.

Of each graph, drawn by graph_maker.py: full check and strict inference; inputs and outputs as asked; the same bytes at
-j1 and -j4; no cast twice, no new round trip; compiling the result again changes nothing; level O0 is the identity.
Seed and failing graphs are told: graph i of a run is `--seed SEED+i --count 1`.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import random
import sys
import tempfile
from pathlib import Path

import onnx

import graph_maker
import modelfacts
from compiler import ALL_MODES, Compiler, Mode, add_arguments, said


class Broken(Exception):
    """An invariant that does not hold."""


def expect(holds, text):
    if not holds:
        raise Broken(text)


def compiled(compiler, model, out, mode, more):
    done = compiler.run(model, out, mode, more, timeout=120)
    expect(done.returncode == 0, f"{' '.join(map(str, more))}: {said(done)}")
    return out.read_bytes()


def check(compiler, model, rng, folder):
    """Compiles one graph and raises Broken at the first invariant that fails. Returns the mode's name."""
    mode = rng.choice(ALL_MODES)
    promote = rng.choice([[], ["--promote"], ["--no-promote"]])
    text = " ".join([str(mode), *promote])
    before, after, again = folder / "model.onnx", folder / "low.onnx", folder / "again.onnx"
    onnx.save(model, before)
    try:
        one = compiled(compiler, before, after, mode, ["-j1", *promote])
        expect(compiled(compiler, before, after, mode, ["-j4", *promote]) == one, "-j1 and -j4 make different files")
        result = onnx.load_model_from_string(one)
        try:
            onnx.checker.check_model(str(after), full_check=True)
            modelfacts.infer_strictly(after)
        except Exception as error:
            raise Broken(f"the result is not valid: {str(error).strip()[:600]}") from error

        expect(modelfacts.interface_names(result) == modelfacts.interface_names(model), "inputs or outputs are renamed")
        if mode.io == "keep":
            expect(modelfacts.interface(result) == modelfacts.interface(model), "inputs or outputs change their types")
        had, has = modelfacts.casts(model), modelfacts.casts(result)
        expect(has.duplicates <= had.duplicates, f"{has.duplicates - had.duplicates} values are cast twice")
        new = has.round_trips - had.round_trips
        expect(not new, f"fp32 to low and back, through {', '.join(sorted(new))}")

        compiled(compiler, after, again, mode, ["-j1", *promote])
        changes = modelfacts.differences(result, onnx.load(again))
        expect(not changes, f"compiling the result again changes {', '.join(changes[:5])}")
        compiled(compiler, before, again, Mode(mode.dtype, "O0", "keep"), ["-j1"])
        changes = modelfacts.differences(model, onnx.load(again))
        expect(not changes, f"level O0 changes {', '.join(changes[:5])}")
    except Broken as broken:
        raise Broken(f"[{text}] {broken}") from broken
    return text

LIMIT = 120  # seconds a graph
PROCESSES = multiprocessing.get_context("forkserver")  # forking from a thread could inherit a lock that is held
PROCESSES.set_forkserver_preload(["onnx", "onnx.checker", "onnx.shape_inference", "graph_maker", "modelfacts"])


def one(seed, program, rules, save, pipe):
    """Sends the operators drawn once there is a graph, then what failed, or None."""
    rng = random.Random(seed)
    model, used = graph_maker.make(rng, rng.choice([2, 4, 8, 12, 20, 40]))
    pipe.send(used)
    failure = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(Compiler(program, rules), model, rng, Path(folder))
        except Broken as broken:
            save.mkdir(parents=True, exist_ok=True)
            path = save / f"random_{seed}.onnx"
            onnx.save(model, path)
            failure = f"{broken}\n    the graph: {path}"
    pipe.send(failure)


def run(task):
    """(seed, operators drawn, failure or None); a process a graph, since onnx's checker crashes on some that are drawn."""
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
                return seed, said[0] if said else (), f"no end in {LIMIT} seconds"
            said.append(here.recv())
    except EOFError:
        process.join()
        if not said:
            return seed, None, None
        return seed, said[0], f"the check of the result died with code {process.exitcode}"
    process.join()
    return seed, *said


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
    operators, failures, undrawn = collections.Counter(), [], 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for at, used, failure in pool.map(run, tasks):
            if used is None:
                undrawn += 1
                print(f"--seed {at}: onnx's checker died on the graph that was drawn; left out", flush=True)
                continue
            operators.update(used)
            if failure:
                failures.append(failure)
                print(f"FAILED: --seed {at} --count 1: {failure}", flush=True)
    drawn = args.count - undrawn
    print(f"{drawn - len(failures)} of {drawn} graphs hold; {len(operators)} operators drawn; seed {seed}")
    return int(bool(failures) or drawn == 0)


if __name__ == "__main__":
    sys.exit(main())
