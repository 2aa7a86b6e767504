#!/usr/bin/env python3
"""How long `ampc check` takes with large rule files, and whether reading them grows with their lines alone.

    check_speed.py --ampc PATH [--runs N] [--check]

Files of 1,000, 10,000 and 100,000 lines, and one of 10,000 that imports 200 others of 20, each by a whole process. CPU time
is the least of some runs, in turn; that of an empty file is taken off before it is divided by the lines. Each file is also
read alone (`--emit ast`). --check ends with 1 where to read a line of the largest file costs more than 1.3 times what one of a
smaller file does; it needs AMPC_FULL=1.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST = 1.3
OPERATORS = ("Abs Add Ceil Clip Concat Conv Cos CumSum Div Einsum Elu Erf Exp Expand Floor Gather Gelu Gemm LeakyRelu Log "
             "MatMul Max Min Mish Mod Mul Neg Pow Reciprocal ReduceMean ReduceSum Relu Reshape Round Sigmoid Sign Sin Slice "
             "Softmax Softplus Sqrt Squeeze Sub Sum Tan Tanh Tile Transpose Where").split()


def line(rng, n):
    return (f'scope "/block{n}/layer.{{0..3}}/**" {{ deny {rng.choice(OPERATORS)} }}',
            f'tensor "*weight{n}*", "bias{n}" keep fp32',
            f'node "/head{n}/**" keep fp32',
            f"deny com.acme{n}::Route{n}, com.acme{n}::Merge{n}",
            f"# what team {n} needs, and why",
            f"weight where absmax > {n + 1} and size < {n + 1} keep fp32",
            f"com.acme{n}::Mix{n} arg 1, 2 keep fp32",
            f"deny Mul where rank(A) == {n % 7} and size(B) > {n}",
            f"pattern norm{n}(x, eps) {{ s = Mul(x, x) m = ReduceMean(s) y = Sqrt(Add(m, eps)) }} keep fp32",
            f"tensor /encoder\\.layer\\.{n}\\..*/ store fp32")[n % 10]


def write(folder, lines, imports=0):
    rng = random.Random(lines)
    folder.mkdir()
    head = ["amp 1"]
    for i in range(imports):
        body = [line(rng, (i + 1) * 1000000 + k) for k in range(19)]
        (folder / f"part{i}.amp").write_text("\n".join(["amp 1", *body]) + "\n")
        head.append(f'import "part{i}.amp"')
    body = [line(rng, k) for k in range(lines - len(head))]
    (folder / "team.amp").write_text("\n".join([*head, *body]) + "\n")
    return folder / "team.amp"


def run(program, rules, reading):
    """Seconds by the clock and of the CPU; rules that are not good end the measurement."""
    begin = time.perf_counter()
    command = [program, rules, "--emit", "ast"] if reading else [program, "check", rules]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{rules}: exit status {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check and not os.environ.get("AMPC_FULL"):
        print("a minute long: set AMPC_FULL=1")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty.amp").write_text("amp 1\n")
        files = {"empty": (folder / "empty.amp", 0)}
        for lines in (1000, 10000, 100000):
            files[f"{lines:,} lines"] = (write(folder / str(lines), lines), lines)
        files["10,000 lines, 200 imports of 20"] = (write(folder / "imports", 10000, 200), 14000)
        best = {(what, reading): [1e9, 1e9] for what in files for reading in (False, True)}
        for _ in range(args.runs):
            for what, reading in best:
                at = best[what, reading]
                best[what, reading] = [min(a, b) for a, b in zip(at, run(args.ampc, files[what][0], reading))]
    print("| rules | | wall ms | CPU ms | CPU us a line |\n|---|---|--:|--:|--:|")
    costs = {}
    for (what, reading), (wall, cpu) in best.items():
        lines = files[what][1]
        if lines:
            costs[what, reading] = (cpu - best["empty", reading][1]) / lines
        cost = f"{costs[what, reading] * 1e6:.1f} " if lines else ""
        print(f"| {what} | {'read' if reading else 'check'} | {wall * 1e3:.1f} | {cpu * 1e3:.1f} | {cost}|")
    worst = 0
    for reading in (False, True):
        for what in ("1,000 lines", "10,000 lines"):
            ratio = costs["100,000 lines", reading] / costs[what, reading]
            print(f"to {'read' if reading else 'check'} a line of 100,000 costs {ratio:.2f} times one of {what}")
            worst = max(worst, ratio if reading else 0)
    return 1 if args.check and worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
