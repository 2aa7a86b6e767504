#!/usr/bin/env python3
"""How the whole compiler scales with nodes, beside protobuf's bare parsing and serialising of the same file.

    scaling.py --ampc PATH --floor PATH [--nodes 5000,50000,500000] [--runs 7] [--folder DIR]

Wall time of whole processes, the two in turn, medians. Prints the ratio per size, and how time per node changes between
the sizes: flat is 1.00, below it is what a start costs. Time per further node, from one size to the next, is without that. `cmake --build DIR --target benchmarks` makes both programs.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx

from make_chain import chain

RULES = Path(__file__).resolve().parents[2] / "rules" / "default.amp"


def seconds(command):
    start = time.perf_counter()
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", type=Path, required=True)
    parser.add_argument("--floor", type=Path, required=True, help="the program protobuf_floor")
    parser.add_argument("--rules", type=Path, default=RULES)
    parser.add_argument("--nodes", default="5000,50000,500000")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where chains are kept; default: a temporary one")
    parser.add_argument("more", nargs="*", help="further arguments for ampc, after --")
    args = parser.parse_args()

    print(f"{'nodes':>8} {'MB':>7} {'protobuf s':>11} {'ampc s':>9} {'ratio':>6} {'us/node':>8} {'us/further node':>16}")
    done = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for count in map(int, args.nodes.split(",")):
            model = folder / f"chain_{count}.onnx"
            if not model.exists():
                onnx.save(chain(count), model)
            out = Path(scratch) / "out.onnx"
            commands = {"floor": [args.floor, model, out], "ampc": [args.ampc, args.rules, model, "-o", out, "-q", *args.more]}
            times = {name: [] for name in commands}
            for turn in range(args.runs + 1):
                for name, command in commands.items():
                    took = seconds(command)
                    if turn:  # the first warms the page cache
                        times[name].append(took)
            floor, ampc = (statistics.median(times[name]) for name in ("floor", "ampc"))
            further = f"{(ampc - done[-1][1]) / (count - done[-1][0]) * 1e6:.2f}" if done else ""
            done.append((count, ampc))
            print(f"{count:>8} {model.stat().st_size / 1e6:>7.1f} {floor:>11.3f} {ampc:>9.3f} {ampc / floor:>6.2f}"
                  f" {ampc / count * 1e6:>8.2f} {further:>16}", flush=True)
    if len(done) > 1:
        (few, first), (many, last) = done[0], done[-1]
        print(f"time per node, largest chain over smallest: {last / many / (first / few):.2f}")


if __name__ == "__main__":
    sys.exit(main())
