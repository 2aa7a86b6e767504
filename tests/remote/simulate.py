#!/usr/bin/env python3
"""How far shards carry: the real costs of ampc plan, cast and link for a model, on a simulated cluster of 1 to 64 workers.

    simulate.py --ampc PATH [--size GB] [--shards 1,2,4,…] [--workers 1,2,4,…] [--start S] [--link GB/s] [--storage GB/s]
                [--inputs whole|own] [--unmeasured] [--clock wall|cpu] [--runs N] [--folder DIR] [--json FILE]

Measures each process by itself, on one core, with files in the page cache, the least of some runs; then simulates
(cluster.py says how): each action takes --start seconds more, what it reads and writes goes over the network, the whole model
once to each worker (as Bazel has it), or to each cast its own bytes alone. For each number of workers the best number of
shards is told, and the time beside that of one `ampc RULES MODEL` on one such worker.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from cluster import Cluster, Network, makespan
from shard_costs import Measurer

REPOSITORY = Path(__file__).resolve().parents[2]
RULES = REPOSITORY / "rules" / "default.amp"
GB = 1e9
WIDTH = 1024
BLOCK = WIDTH * WIDTH * 12 * 4  # bytes of a block's weights
POWERS = "1,2,4,8,16,32,64"


def make_model(path, size):
    sys.path.append(str(REPOSITORY / "tests" / "bench"))
    import onnx
    from make_transformer import transformer
    layers, width = (round(size / BLOCK), WIDTH) if size >= 2 * BLOCK else (4, 64 * max(1, round((size / 4 / 48) ** 0.5 / 64)))
    with open(f"{path}.data", "wb") as data:
        onnx.save(transformer(layers, width, 1000, data), path)


def one(costs, workers, network, args):
    return Cluster(workers, network).run(costs.tasks(args.clock, args.inputs))


def baseline(whole, costs, network, args):
    """One process on one worker: it fetches the model and stores what it made."""
    moved = costs.model_size + costs.out_size
    return network.start + moved / min(network.link, network.storage) + getattr(whole, args.clock)


def table(whole, by_shards, args):
    network = Network(args.start, args.link * GB, args.storage * GB)
    alone = baseline(whole, next(iter(by_shards.values())), network, args)
    rows = []
    for workers in args.workers:
        shards, done = min(((n, one(c, workers, network, args)) for n, c in by_shards.items()), key=lambda x: makespan(x[1]))
        last = max((d for name, d in done.items() if name.startswith("cast")), key=lambda d: d.end)
        rows.append({"workers": workers, "shards": shards, "seconds": makespan(done), "speed_up": alone / makespan(done),
                     "plan": done["plan"].end, "cast": last.end - done["plan"].end, "link": done["link"].end - last.end,
                     "gigabytes": sum(d.fetched for d in done.values()) / GB})
    return alone, rows


def show(whole, by_shards, alone, rows, args):
    first = next(iter(by_shards.values()))
    print(f"model {first.model_size / GB:.2f} GB, result {first.out_size / GB:.2f} GB; measured, seconds of {args.clock} time:")
    print(f"  one ampc {getattr(whole, args.clock):.2f}")
    for n, costs in by_shards.items():
        casts = [getattr(c, args.clock) for c in costs.casts]
        print(f"  {n:>2} shards: plan {getattr(costs.plan, args.clock):.2f}, casts {sum(casts):.2f}, the longest {max(casts):.3f}, "
              f"link {getattr(costs.link, args.clock):.2f}")
    print(f"simulated: {args.start} s to start an action, {args.link} GB/s for each worker, {args.storage} GB/s in all, "
          f"{'whole models' if args.inputs == 'whole' else 'own bytes'} as inputs; one ampc on one worker {alone:.2f} s")
    print(f"{'workers':>8} {'shards':>7} {'seconds':>8} {'speed-up':>9} {'plan':>6} {'cast':>6} {'link':>6} {'GB fetched':>11}")
    for r in rows:
        print(f"{r['workers']:>8} {r['shards']:>7} {r['seconds']:>8.2f} {r['speed_up']:>9.2f} {r['plan']:>6.2f} {r['cast']:>6.2f} "
              f"{r['link']:>6.2f} {r['gigabytes']:>11.2f}")
    best = min(rows, key=lambda r: r["seconds"])
    serial = best["plan"] + best["link"]
    print(f"ends at {best['speed_up']:.2f}: plan and link, which run alone, are {serial:.2f} of {best['seconds']:.2f} s there")


def numbers(kind):
    return lambda text: [kind(x) for x in text.split(",")]


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", type=Path, required=True)
    parser.add_argument("--rules", type=Path, default=RULES)
    parser.add_argument("--size", type=float, default=1.0, help="of the model, in GB")
    parser.add_argument("--shards", type=numbers(int), default=POWERS)
    parser.add_argument("--workers", type=numbers(int), default=POWERS)
    parser.add_argument("--start", type=float, default=0.3, help="seconds that an action takes to begin")
    parser.add_argument("--link", type=float, default=1.25, help="GB/s between a worker and the storage")
    parser.add_argument("--storage", type=float, default=5.0, help="GB/s of the storage")
    parser.add_argument("--inputs", choices=("whole", "own"), default="whole")
    parser.add_argument("--unmeasured", action="store_true", help="ampc plan reads no weights")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the model is kept; default: a temporary one")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    for name in ("shards", "workers"):
        if isinstance(getattr(args, name), str):
            setattr(args, name, numbers(int)(getattr(args, name)))
    return args


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        model = folder / f"transformer_{args.size}.onnx"
        if not model.exists():
            make_model(model, args.size * GB)
        measurer = Measurer(args.ampc.resolve(), args.rules.resolve(), model, Path(scratch), args.runs)
        whole = measurer.whole()
        by_shards = {n: measurer.shards(n, ["--unmeasured"] if args.unmeasured else []) for n in args.shards}
    alone, rows = table(whole, by_shards, args)
    show(whole, by_shards, alone, rows, args)
    if args.json:
        args.json.write_text(json.dumps({"alone": alone, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
