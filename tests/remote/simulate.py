#!/usr/bin/env python3
"""How far a build spreads: the real costs of ampc on a model, and those of ampc plan, cast and link, on a simulated cluster.

    simulate.py --ampc PATH [--size GB] [--models N] [--shards 1,2,4,…] [--workers 1,2,4,…] [--start S] [--link GB/s]
                [--storage GB/s] [--clock wall|cpu] [--runs N] [--folder DIR] [--json FILE]

Measures each process by itself, on one core, with files in the page cache, the least of some runs. cluster.py says how it is
simulated: each action takes --start seconds more; what it reads and writes goes over the network. Four builds are told:

    bazel       one model in shards; a worker fetches the whole model for the first action that reads it, as Bazel has it
    own         the same where a cast fetches no more than it reads: workers that mount the storage
    unmeasured  that, and a plan that reads no weights
    models      many models, each by one action

For each number of workers the best number of shards is told, and how many times faster that is than one worker that makes
each model by one action.
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


BUILDS = ("bazel", "own", "unmeasured", "models")


def network_of(args):
    return Network(args.start, args.link * GB, args.storage * GB)


def one_worker(model, args):
    """Seconds for one model by one action."""
    return makespan(Cluster(1, network_of(args)).run([model.task(args.clock)]))


def candidates(build, model, measured, args):
    """Lists of tasks, by the number of shards."""
    if build == "models":
        return {0: [model.task(args.clock, f" {i}") for i in range(args.models)]}
    costs = measured[build == "unmeasured"]
    return {n: c.tasks("whole" if build == "bazel" else "own", args.clock) for n, c in costs.items()}


def rows_of(build, model, measured, args):
    """For each number of workers the best that there is."""
    network = network_of(args)
    alone = one_worker(model, args) * (args.models if build == "models" else 1)
    rows = []
    for workers in args.workers:
        runs = {n: Cluster(workers, network).run(tasks) for n, tasks in candidates(build, model, measured, args).items()}
        shards = min(runs, key=lambda n: makespan(runs[n]))
        done, seconds = runs[shards], makespan(runs[shards])
        serial = sum(done[name].end - done[name].begin for name in ("plan", "link") if name in done)
        rows.append({"workers": workers, "shards": shards, "seconds": seconds, "speed_up": alone / seconds, "serial": serial,
                     "fetched": sum(d.fetched for d in done.values()), "fetch_floor": sum(d.fetched for d in done.values()) / network.storage})
    return rows


def show_costs(model, measured, args):
    print(f"model {model.size / GB:.2f} GB, result {model.out_size / GB:.2f} GB; measured, seconds of {args.clock} time:")
    print(f"  one ampc {getattr(model.cost, args.clock):.2f}")
    for unmeasured, by_shards in measured.items():
        for n, costs in by_shards.items():
            casts = [getattr(c, args.clock) for c in costs.casts]
            print(f"  {n:>2} shards{', unmeasured' if unmeasured else ''}: plan {getattr(costs.plan, args.clock):.2f}, casts {sum(casts):.2f}, "
                  f"the longest {max(casts):.3f}, link {getattr(costs.link, args.clock):.2f}")


def show(model, measured, args):
    """Prints the table; what is in it by the build's name."""
    found = {build: rows_of(build, model, measured, args) for build in BUILDS}
    print(f"simulated: {args.start} s to start an action, {args.link} GB/s for each worker, {args.storage} GB/s in all; "
          f"one ampc on one worker {one_worker(model, args):.2f} s")
    print("workers" + "".join(f"{f'{args.models} models' if build == 'models' else build:>16}" for build in BUILDS))
    for i, workers in enumerate(args.workers):
        cells = [f"{r['speed_up']:.2f}" + (f" ({r['shards']:>2})" if r["shards"] else "     ") for r in (found[build][i] for build in BUILDS)]
        print(f"{workers:>7}" + "".join(f"{cell:>16}" for cell in cells))
    for build in BUILDS:
        best = max(found[build], key=lambda r: r["speed_up"])
        if build == "models":
            why = f"the storage alone takes {best['fetch_floor']:.2f}"
        else:
            why = f"plan and link, which run alone, take {best['serial']:.2f}"
        print(f"{build} ends at {best['speed_up']:.2f} with {best['workers']} workers: of {best['seconds']:.2f} s, {why}")
    return found


def numbers(kind):
    return lambda text: [kind(x) for x in text.split(",")]


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", type=Path, required=True)
    parser.add_argument("--rules", type=Path, default=RULES)
    parser.add_argument("--size", type=float, default=1.0, help="of the model, in GB")
    parser.add_argument("--models", type=int, default=64, help="of the build of many")
    parser.add_argument("--shards", type=numbers(int), default=POWERS)
    parser.add_argument("--workers", type=numbers(int), default=POWERS)
    parser.add_argument("--start", type=float, default=0.3, help="seconds that an action takes to begin")
    parser.add_argument("--link", type=float, default=1.25, help="GB/s between a worker and the storage")
    parser.add_argument("--storage", type=float, default=5.0, help="GB/s of the storage")
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
        measured = {unmeasured: {n: measurer.shards(whole, n, unmeasured) for n in args.shards} for unmeasured in (False, True)}
    show_costs(whole, measured, args)
    found = show(whole, measured, args)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
