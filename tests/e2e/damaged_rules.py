#!/usr/bin/env python3
"""Damaged rule files: whatever a slip leaves of a good file, the compiler ends, and tells what is wrong, where, and once.

    damaged_rules.py --ampc PATH [--count N] [--seed N] [--save DIR]

Takes the rule files of the repository, deletes, doubles or swaps one to three of a file's tokens, and checks the result:
300 times, or 2000 times under AMPC_FULL=1. Each time

  * the program ends by itself, soon, with 0 or 1;
  * where it ends with 1 there is an error, and each error has a place in a file and a way out;
  * no diagnostic is told twice at one place;
  * there are not many more errors than slips.

A file that breaks one of these is kept in DIR with what was said of it; --seed N --count 1 draws it again.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from compiler import REPOSITORY

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|/(?:[^/\\\n*]|\\.)(?:[^/\\\n]|\\.)*/|#[^\n]*|///[^\n]*|[\w.]+(?:::[\w.]+)?|->|[=!<>]=|\S|\s+')
SECONDS = 20  # far beyond what any of these files takes
MOST_ERRORS = 2  # of one place: what a slip hits may show in the statement before it too
FEW = 3  # errors more: a brace that is gone shows at its end


def corpus():
    files = sorted([*(REPOSITORY / "rules").rglob("*.amp"), *(REPOSITORY / "examples").rglob("*.amp"),
                    *(REPOSITORY / "tests" / "golden" / "fmt").glob("*.amp")])
    return [(path, path.read_text()) for path in files]


def tokens_of(text):
    return TOKEN.findall(text)


def damage(rng, text):
    """The text with one to three slips, and what they are."""
    tokens = tokens_of(text)
    words = [i for i, t in enumerate(tokens) if not t.isspace() and not t.startswith(("#", "///"))]
    slips = []
    for _ in range(rng.randint(1, 3)):
        at = rng.choice(words)
        kind = rng.choice(("delete", "double", "swap"))
        slips.append(f"{kind} {tokens[at]!r}")
        if kind == "delete":
            tokens[at] = ""
        elif kind == "double":
            tokens[at] = f"{tokens[at]} {tokens[at]}"
        else:
            other = rng.choice(words)
            slips[-1] += f" {tokens[other]!r}"
            tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens), slips


def run(ampc, path):
    call = [ampc, "check", path, "--diagnostics", "json"]
    return subprocess.run([*map(str, call)], capture_output=True, text=True, timeout=SECONDS)


def check(ampc, path, slips, before):
    """What is wrong with what the program says of this file, which had `before` errors; nothing where all is well."""
    try:
        done = run(ampc, path)
    except subprocess.TimeoutExpired:
        return f"it took more than {SECONDS} s", ""
    said = done.stderr
    if done.returncode not in (0, 1):
        return f"exit status {done.returncode}", said
    try:
        diagnostics = [json.loads(line) for line in said.splitlines()]
    except json.JSONDecodeError:
        return "something else than diagnostics on stderr", said
    errors = [d for d in diagnostics if d["severity"] == "error"]
    if bool(errors) != (done.returncode == 1):
        return f"exit status {done.returncode} with {len(errors)} errors", said
    for d in diagnostics:
        if "file" not in d and not d["code"].startswith("AMPC04"):
            return f"no place: {d['message']}", said
        if not (d["message"].startswith("expected") or d.get("help") or "did you mean" in d.get("label", "")):
            return f"no way out: {d['message']}", said
    places = [(d.get("file"), d.get("line"), d.get("column"), d["code"], d["message"]) for d in diagnostics]
    if len(set(places)) != len(places):
        return "told twice", said
    places = sum(1 + slip.startswith("swap") for slip in slips)
    if len(errors) - before > MOST_ERRORS * places + FEW:
        return f"{len(errors) - before} errors of {len(slips)} slips", said
    return "", said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--count", type=int, default=2000 if os.environ.get("AMPC_FULL") else 300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path)
    args = parser.parse_args()
    files = corpus()
    # Files that show a layout need not mean anything.
    before = {path: run(args.ampc, path).stderr.count('"severity":"error"') for path, _ in files}
    faults = wrong = told = 0
    with tempfile.TemporaryDirectory() as folder:
        for part in ("rules", "examples", "tests/golden/fmt"):
            shutil.copytree(REPOSITORY / part, Path(folder) / part)
        for seed in range(args.seed, args.seed + args.count):
            rng = random.Random(seed)
            path, text = rng.choice(files)
            damaged, slips = damage(rng, text)
            # In a copy of what the repository has, so that imports find what they name.
            file = Path(folder) / path.relative_to(REPOSITORY)
            file.write_text(damaged)
            fault, said = check(args.ampc, file, slips, before[path])
            wrong += bool(said)
            file.write_text(text)
            told += len(said.splitlines())
            if not fault:
                continue
            faults += 1
            print(f"seed {seed}: {path.relative_to(REPOSITORY)}: {'; '.join(slips)}: {fault}")
            if args.save:
                args.save.mkdir(parents=True, exist_ok=True)
                (args.save / f"{seed}.amp").write_text(damaged)
                (args.save / f"{seed}.txt").write_text(said)
    print(f"{args.count} damaged files: {wrong} are told of in {told} diagnostics, {faults} break a rule")
    return 1 if faults or not wrong else 0


if __name__ == "__main__":
    sys.exit(main())
