#!/usr/bin/env python3
"""The compiler, its peers and the least that the work can take, in one run; tests/bench/run.sh calls it.

Whole processes, one model after the other and all contenders of a model in turn, medians. Each finds its input in the page
cache and no output where it writes; what it wrote is removed before the next one starts, so that none pays for the disk's
work on another's. The first turn warms up and is where anonymous memory is sampled. It counts for contenders that
take over ten seconds, who need no warming up; one that took over a minute has had its one run.
"""

import argparse
import json
import os
import statistics
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

from make_chain import chain

HERE = Path(__file__).resolve().parent
RULES = HERE.parents[1] / "rules" / "default.amp"
COUNTED, SLOW = 10, 60  # seconds
SAMPLE = 1000  # microseconds between looks at a process's memory

TRANSFORMERS = {
    "small": ["--layers", 4, "--width", 256],
    "large": ["--layers", 48, "--width", 896, "--vocabulary", 16000],
    "external": ["--layers", 48, "--width", 1600, "--vocabulary", 16000, "--external"],
}
CHAINS = {f"chain{n}": n for n in (5000, 50000, 500000)}
TITLES = {"small": "4 layers", "large": "48 layers, one file", "external": "48 layers, data file"}


def make(name, folder):
    """The model's path; made where it is not there yet."""
    path = folder / f"{name}.onnx"
    if path.exists():
        return path
    if name in CHAINS:
        onnx.save(chain(CHAINS[name]), path)
    else:
        command = [sys.executable, HERE / "make_transformer.py", path, *TRANSFORMERS[name]]
        subprocess.run([str(c) for c in command], check=True)
    return path


def size_of(path):
    data = Path(f"{path}.data")
    return path.stat().st_size + (data.stat().st_size if data.exists() else 0)


def size_text(size):
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size >= 1e7 else f"{size / 1e6:.1f} MB"


def tell(progress):
    if sys.stderr.isatty():
        print(f"\r\033[K{progress}", end="", file=sys.stderr, flush=True)


def remove(out):
    for path in (out, Path(f"{out}.data")):
        path.unlink(missing_ok=True)


class Contender:
    def __init__(self, name, kind, command, key=None):
        self.name, self.kind, self.key = name, kind, key or name
        self.command = [str(c) for c in command]
        self.runs, self.anonymous, self.peak, self.failure = [], 0.0, 0.0, None

    def run(self, measured, out, sample, last):
        remove(out)
        command = [str(measured), *(["--sample", str(SAMPLE)] if sample else []), "--", *self.command]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        remove(out)
        if done.returncode != 0:
            self.failure = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            return
        result = json.loads(done.stdout)
        self.peak = max(self.peak, result["peak_kib"] * 1024 / 1e6)
        if sample:
            self.anonymous = result["anonymous_kib"] * 1024 / 1e6
        self.slow = result["wall"] > SLOW
        if not sample or result["wall"] > COUNTED or last:
            self.runs.append((result["wall"], result["user"] + result["system"]))

    @property
    def wall(self):
        return statistics.median(r[0] for r in self.runs)

    @property
    def cpu(self):
        return statistics.median(r[1] for r in self.runs)


def contenders(name, model, out, args):
    python, tools, jobs = sys.executable, args.tools, args.jobs
    ampc = [args.ampc, args.rules, model, "-o", out, "-q"]
    yield Contender("ampc -j1", "ampc", [*ampc, "-j1"], "j1")
    yield Contender(f"ampc -j{jobs}", "ampc", [*ampc, f"-j{jobs}"], "jn")
    data = Path(f"{model}.data")
    weights = data if data.exists() else model
    if name in TRANSFORMERS:
        # The first turn, which is not timed, fills it.
        yield Contender(f"ampc -j{jobs}, full --cache", "cached", [*ampc, f"-j{jobs}", "--cache", out.parent / f"{name}.cache"], "cache")
        for threads, key in ((1, "floor1"), (jobs, "floorn")):
            yield Contender(f"map, cast, write; {threads} thread{'s'[: threads > 1]}", "floor", [tools / "cast_floor", weights, out, threads], key)
    yield Contender("cp", "floor", ["cp", weights, out])
    if not data.exists():
        yield Contender("protobuf: parse, cast, write", "floor", [tools / "protobuf_floor", model, out, "cast"])
    if not args.quick:
        yield Contender("Python: load, save", "python", [python, HERE / "peer.py", "nothing", model, out])
    for peer in ("onnxconverter", "onnxruntime"):
        for bare in ["--bare"] if args.quick else ["--bare", None]:
            command = [python, HERE / "peer.py", peer, model, out, *([bare] if bare else [])]
            title = {"onnxconverter": "onnxconverter-common", "onnxruntime": "onnxruntime float16"}[peer]
            yield Contender(title + (", no shape inference" if bare else ""), "peer", command)


def measure(name, args, folder):
    model, out = make(name, folder), folder / "out.onnx"
    data = Path(f"{model}.data")
    entries = [c for c in contenders(name, model, out, args) if args.peers or c.kind not in ("peer", "python")]
    for path in (model, data):
        if path.exists():  # into the page cache
            subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL, check=True)
    for turn in range(args.runs + 1):
        for c in entries:
            few = args.peer_runs if c.kind in ("peer", "python") else args.runs
            if c.failure is None and not (turn and c.slow) and turn <= few:
                tell(f"{name}: turn {turn} of {args.runs}, {c.name}")
                c.run(args.tools / "measured", out, sample=turn == 0, last=few == 0)
    tell("")
    note = None
    if args.check and name in TRANSFORMERS:
        subprocess.run([args.ampc, args.rules, model, "-o", out, "-q"], check=True)
        command = [sys.executable, HERE / "check_cast.py", model, out, *([] if args.quick else ["--load"])]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        note = (done.stdout + done.stderr).strip()
        if done.returncode != 0:
            sys.exit(f"{name}: {note}")
    remove(out)
    shutil.rmtree(folder / f"{name}.cache", ignore_errors=True)
    size = size_of(model)
    if not args.keep and args.folder is None:
        remove(model)
    return {"name": name, "size": size, "entries": entries, "note": note}


def table(results, args):
    lines = ["| model | | wall s | CPU s | times ampc | peak MB | anonymous MB |", "|---|---|--:|--:|--:|--:|--:|"]
    for r in results:
        title = TITLES.get(r["name"], f"{CHAINS.get(r['name'], 0):,} nodes") + f", {size_text(r['size'])}"
        best = next(c for c in r["entries"] if c.key == "jn")
        for c in r["entries"]:
            if c.failure:
                lines.append(f"| {title} | {c.name} | fails: {c.failure[:60].replace('|', ' ')} | | | | |")
            else:
                few = f" ({len(c.runs)} run{'s'[: len(c.runs) > 1]})" if len(c.runs) < args.runs else ""
                lines.append(f"| {title} | {c.name}{few} | {c.wall:.3f} | {c.cpu:.3f} | {c.wall / best.wall:.2f} | {c.peak:.0f} | {c.anonymous:.0f} |")
            title = ""
    return "\n".join(lines)


def bars(results):
    """What is asked of the ratios: (what, value, bound, whether it holds). Only of what was run."""
    for r in results:
        by = {c.key: c for c in r["entries"] if not c.failure}
        name, j1, jn = r["name"], by["j1"], by["jn"]
        peers = [c for c in r["entries"] if c.kind == "peer" and not c.failure]
        if peers:
            fastest = min(peers, key=lambda c: c.wall)
            least = {"small": 20, "large": 25, "external": 25}.get(name, 1)
            value = fastest.wall / jn.wall
            yield name, f"{fastest.name} / ampc -jN", value, f">= {least}", value >= least
        if name in ("large", "external"):
            for ours, floor in (("j1", "floor1"), ("jn", "floorn")):
                value = by[ours].wall / by[floor].wall
                yield name, f"{by[ours].name} / the least, as many threads", value, "<= 1.3", value <= 1.3
                value = by[ours].cpu / by[floor].cpu
                yield name, "the same in CPU time", value, "<= 1.3", value <= 1.3
            yield name, "anonymous memory, MB", max(j1.anonymous, jn.anonymous), "<= 150", max(j1.anonymous, jn.anonymous) <= 150
        if name == "small":
            yield name, "peak memory, MB", max(j1.peak, jn.peak), "<= 30", max(j1.peak, jn.peak) <= 30
        least = 1.4 if name == "large" else 0.95
        yield name, "ampc -j1 / ampc -jN", j1.wall / jn.wall, f">= {least}", j1.wall / jn.wall >= least


def kernels(tools):
    """Throughput of the best cast kernel in GB/s of source bytes, beside memcpy of the same bytes."""
    program = tools / "cast_bench"
    if not program.exists():
        return {}
    names = subprocess.run([str(program), "--benchmark_list_tests", "--benchmark_filter=^cast/"], capture_output=True, text=True, check=True)
    best = names.stdout.split("/")[1]  # kernels are listed best first
    command = [program, "--benchmark_format=json", "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true", "--benchmark_min_time=0.1",
               f"--benchmark_filter=^(memcpy|(cast|cast_measured)/{best}/fp32_(fp16|bf16)|cast_parallel/fp32_fp16)/memory"]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True)
    return {b["run_name"].removesuffix("/real_time"): b["bytes_per_second"] / 1e9 for b in json.loads(done.stdout)["benchmarks"] if b["aggregate_name"] == "median"}


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{len(os.sched_getaffinity(0))} cores, {memory / 2**30:.0f} GiB of memory"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", type=Path, required=True)
    parser.add_argument("--tools", type=Path, required=True, help="where measured, cast_floor, protobuf_floor and cast_bench are")
    parser.add_argument("--rules", type=Path, default=RULES)
    parser.add_argument("--models", default=",".join([*TRANSFORMERS, *CHAINS]), help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=5, help="timed runs, medians of which are told")
    parser.add_argument("--peer-runs", type=int, help="those of peers, which take their time; default: as many")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="the N of -jN")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--quick", action="store_true", help="the small model alone, with what holds on a busy machine too: exit 1 where it doesn't")
    parser.add_argument("--check", action="store_true", help="hold the weights against numpy's cast, and load the result in onnxruntime")
    parser.add_argument("--folder", type=Path, help="where models are made and kept; default: a temporary one, each removed when it is done")
    parser.add_argument("--keep", action="store_true", help="remove no model")
    parser.add_argument("--json", type=Path, help="the figures, all of them")
    args = parser.parse_args()
    args.peer_runs = args.runs if args.peer_runs is None else args.peer_runs
    if args.quick:
        args.models, args.check = "small", True
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        results = [measure(name, args, folder) for name in args.models.split(",")]
    print(f"{machine()}; medians of {args.runs}, whole processes\n\n{table(results, args)}\n")
    asked = list(bars(results))
    for name, what, value, bound, holds in asked:
        if not args.quick:
            print(f"- {name}: {what}: {value:.2f} ({bound}{'' if holds else ', missed'})")
    for r in results:
        if r["note"]:
            print(f"- {r['name']}: {r['note']}")
    speeds = {} if args.quick else kernels(args.tools)
    for kernel, speed in speeds.items():
        print(f"- {kernel}: {speed:.1f} GB/s of source, {speed / speeds['memcpy/memory']:.2f} of memcpy")
    if args.json:
        rows = [{"model": r["name"], "size": r["size"], "what": c.name, "kind": c.kind, "failure": c.failure, "peak_mb": c.peak,
                 "anonymous_mb": c.anonymous, "runs": c.runs} for r in results for c in r["entries"]]
        args.json.write_text(json.dumps({"machine": machine(), "rows": rows, "kernels": speeds,
                                         "bars": [{"model": a[0], "what": a[1], "value": a[2], "bound": a[3], "holds": a[4]} for a in asked]}, indent=1))
    if args.quick:
        entries = results[0]["entries"]
        failed = [f"{c.name}: {c.failure}" for c in entries if c.failure]
        ours = [c for c in entries if c.kind == "ampc" and not c.failure]
        peers = [c for c in entries if c.kind == "peer" and not c.failure]
        if not failed and max(c.wall for c in ours) > min(c.wall for c in peers):
            failed.append("a peer was faster")
        if not failed and max(c.peak for c in ours) > min(c.peak for c in peers):
            failed.append("a peer took less memory")
        if failed:
            sys.exit("; ".join(failed))


if __name__ == "__main__":
    main()
