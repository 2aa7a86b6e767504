#!/usr/bin/env python3
"""Compiles every case and every real model in every mode and judges each result.

    matrix.py --ampc PATH [--models DIR] [--quick] [--only NAMES] [--modes "fp16 O1 keep,…"] [--json FILE] [--keep DIR]

Modes are level O1, O2, OD x fp16, bf16 x io keep, low, and O1 keep with --gray cut, with
--functions inline and with --opset 22. What must hold:

  everywhere     valid, inputs and outputs as asked, no cast twice, no new round trip, loads in onnxruntime
  numbers        of cases: fp16 within judge.py's tolerance, by the strict evaluator too; bf16 within 0.1 or cosine 0.99
                 of real models: cosine 0.999 in fp16, 0.99 in bf16
  told only      numbers of real models at O2, which lowers everything by definition

--quick takes every case at fp16 O1 keep and in one more mode, and four small real models, unless AMPC_FULL is set. Exit 1
where anything fails.
"""

import argparse
import collections
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from compiler import ALL_MODES, CASES, MODELS_LIST, UNCONVERTED, Compiler, Mode, add_arguments, said

NUMBERS = {"numbers", "strict"}
SMALL_MODELS = ("silero_vad", "rapidocr_cls_v2", "onnxasr_whisper80_stft", "magika_v3_3")

Subject = collections.namedtuple("Subject", "name path spec entry kind real")


class Judge:
    """judge.py in a process of its own: onnxruntime aborts on some bad models, and must not take the run with it."""

    def __init__(self):
        self.process = None

    def ask(self, **request):
        if self.process is None or self.process.poll() is not None:
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            self.process = subprocess.Popen([sys.executable, str(Path(__file__).with_name("judge.py")), "--serve"],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            text=True, env=environment)
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        code = self.process.wait()
        self.process = None
        return {"verdict": "crash", "crash": f"the judge's process ended with {code}"}

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def subjects(args):
    found = []
    for spec in sorted(args.cases.glob("*.json")):
        case = json.loads(spec.read_text())
        found.append(Subject(case["name"], spec.with_suffix(".onnx"), spec, None, case["kind"], False))
    if args.models:
        for entry in json.loads(MODELS_LIST.read_text()):
            path = args.models / f"{entry['name']}.onnx"
            if path.exists():
                found.append(Subject(entry["name"], path, MODELS_LIST, entry["name"], "real", True))
            elif not args.quick or entry["name"] in SMALL_MODELS:
                sys.exit(f"matrix: {path} is missing: tests/models/fetch.py brings it")
    only = set(filter(None, args.only.split(",")))
    unknown = only - {s.name for s in found}
    if unknown:
        sys.exit(f"matrix: there is no model {', '.join(sorted(unknown))}")
    return [s for s in found if not only or s.name in only]


def modes_of(subject, index, args):
    if args.modes:
        return [Mode.parse(text) for text in args.modes.split(",")]
    if not args.quick:
        return ALL_MODES
    if subject.real and subject.name not in SMALL_MODELS:
        return []
    # One more mode each, going round, so that a quick run sees each mode on some models.
    return list(dict.fromkeys([Mode(), ALL_MODES[index % len(ALL_MODES)]]))


def tolerance(subject, mode):
    request = {"io": mode.io, "strict": not subject.real}
    if mode.dtype == "bf16":
        request.update(rtol=0.1, cosine=0.99)
    elif subject.real:
        request.update(cosine=0.999)
    return request


# onnxruntime's CPU runs Relu in fp32 and drops the cast to fp16 before it, in the main graph and not in the branch: y = -a + a
# is then the rounding of a, where the model and the strict evaluator say 0.
RUNTIME_ARTEFACTS = {("if_order_captured_value", "fp16", "keep"): {"numbers"}}


# onnxruntime has no kernel of opset 22 for random numbers.
UNLOADED = {"bernoulli_dtype": "RandomUniformLike", "random_normal_like": "RandomNormalLike",
            "random_uniform_no_dtype": "RandomUniform"}


def only_told(subject, mode):
    """Checks that this subject may miss in this mode."""
    artefacts = RUNTIME_ARTEFACTS.get((subject.name, mode.dtype, mode.io))
    if artefacts:
        return artefacts
    return NUMBERS if mode.level == "O2" and subject.real else set()


def examine(subject, mode, compiler, judge, folder):
    out = folder / f"{subject.name}.{str(mode).replace(' ', '.')}.onnx"
    row = {"model": subject.name, "mode": str(mode), "kind": subject.kind}
    try:
        done = compiler.run(subject.path, out, mode, ["-j1"])
    except subprocess.TimeoutExpired:
        return {**row, "failed": ["convert"], "convert": "no end in ten minutes"}
    if mode.opset and subject.name in UNCONVERTED:
        refused = done.returncode == 1 and "AMPC1017" in done.stderr and not out.exists()
        return {**row, "failed": [] if refused else ["convert"], "told": [], "refused": True, "convert": said(done)}
    if done.returncode != 0 or not out.exists():
        return {**row, "failed": ["convert"], "convert": said(done)}
    answer = judge.ask(original=str(subject.path), converted=str(out), spec=str(subject.spec), name=subject.entry,
                       **tolerance(subject, mode))
    missed = [] if answer["verdict"] == "ok" else answer["verdict"].split(",")
    told = only_told(subject, mode)
    kernel = UNLOADED.get(subject.name) if mode.opset else None
    if kernel and f"NOT_IMPLEMENTED : Could not find an implementation for {kernel}({mode.opset})" in str(answer.get("load")):
        told = {"load"}
    row["failed"] = [check for check in missed if check not in told]
    row["told"] = [check for check in missed if check in told]
    row["bytes_before"], row["bytes_after"] = subject.path.stat().st_size, out.stat().st_size
    return {**row, **answer}


def run(work, args, folder):
    """Rows of all work, in its order. A model stays with one judge, which keeps its reference outputs."""
    compiler = Compiler(args.ampc, args.rules).require_rules()
    jobs = queue.Queue()
    # The largest first, so that no long one is left for the end.
    for item in sorted(work, key=lambda item: -item[0].path.stat().st_size):
        jobs.put(item)
    rows, lock = [], threading.Lock()

    def worker():
        judge = Judge()
        while True:
            try:
                subject, modes = jobs.get_nowait()
            except queue.Empty:
                break
            for mode in modes:
                row = examine(subject, mode, compiler, judge, folder)
                with lock:
                    rows.append(row)
                    if row["failed"] and args.verbose:
                        print(describe(row, row["failed"]), file=sys.stderr, flush=True)
                if not args.keep:
                    for file in folder.glob(f"{subject.name}.{str(mode).replace(' ', '.')}.*"):
                        file.unlink()
        judge.close()

    threads = [threading.Thread(target=worker) for _ in range(args.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    order = {(s.name, str(m)): i for i, (s, m) in enumerate((s, m) for s, modes in work for m in modes)}
    return sorted(rows, key=lambda row: order[row["model"], row["mode"]])


def describe(row, checks):
    details = "; ".join(f"{check}: {row.get(check)}" for check in checks)
    return f"{row['model']} [{row['mode']}] {details}"


def cell(row):
    if row is None:
        return ""
    if row["failed"]:
        return "FAIL"
    if row["told"]:
        return "told"
    if row.get("refused"):
        return "-"
    if str(row.get("numbers", "n/a")).startswith("n/a"):
        return "ok" if row.get("strict") == "ok" else "types"
    return "ok" if row["numbers_cosine"] >= 0.99995 else f"{row['numbers_cosine']:.4f}"[1:]


def print_table(rows):
    modes = [m for m in map(str, ALL_MODES) if any(r["mode"] == m for r in rows)]
    names = list(dict.fromkeys(r["model"] for r in rows))
    by_key = {(r["model"], r["mode"]): r for r in rows}
    width = max(map(len, names), default=5)
    for line in range(4):
        print(" " * width, *(f"{''.join(m.split()[line:line + 1]):>6}" for m in modes))
    for name in names:
        print(f"{name:<{width}}", *(f"{cell(by_key.get((name, m))):>6}" for m in modes))
    print("\nok: every check. A number: every check, and the least cosine. types: valid, and no engine here computes it."
          "\ntold: valid, and numbers beyond the tolerance where O2 has no say in them."
          "\n-: refused at this opset, with the reason.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--models", type=Path, help="folder of the real models")
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--modes", default="", help='such as "fp16 O1 keep", separated by commas')
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--json", type=Path, help="write every row there")
    parser.add_argument("--keep", type=Path, help="leave the converted models in this folder")
    parser.add_argument("-v", "--verbose", action="store_true", help="tell failures as they come")
    args = parser.parse_args()
    args.quick = args.quick and not os.environ.get("AMPC_FULL")

    work = [(s, modes_of(s, i, args)) for i, s in enumerate(subjects(args))]
    work = [(s, modes) for s, modes in work if modes]
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = run(work, args, folder)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    print_table(rows)
    for row in rows:
        if row.get("told"):
            print("told:", describe(row, row["told"]))
    failures = [row for row in rows if row["failed"]]
    for row in failures:
        print("FAILED:", describe(row, row["failed"]))
    print(f"{len(rows) - len(failures)} of {len(rows)} results hold, over {len(work)} models")
    return int(bool(failures) or not rows)


if __name__ == "__main__":
    sys.exit(main())
