#!/usr/bin/env python3
"""Which operators onnxruntime's CPU runs in fp16 and bf16, measured; rules/target/ort-cpu*.amp are made of it.

    probe_ort_cpu.py --write      write both profiles for the onnxruntime that is installed
    probe_ort_cpu.py --check      hold the profiles against it, for every eighth operator (for all where AMPC_FULL is set):
                                  exit 1 where they differ, 77 where they are of another version of onnxruntime or onnx
    probe_ort_cpu.py --show       print every operator, version and type with what came out (--only NAMES)

Each operator is asked at every version of its schema from opset 7 on (one that onnx defines as a function, at every opset), as
a model of one node (one_node.py), in fp32, fp16
and bf16, with the runtime's optimiser off and as it is by default, with each number of its optional operands, and in a branch
of an If. The worst that comes out holds:

    native  loads and runs, in that type
    casts   loads and runs, but through casts to fp32 that the runtime puts around the node
    none    does not load, does not run, or brings the process down
    -       nothing to say: the schema does not admit the type, or the runtime has no fp32 there either
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import onnx

import one_node
from one_node import BFLOAT16, FLOAT, FLOAT16, NEWEST, OLDEST, Unmade

PROFILES = Path(__file__).resolve().parents[2] / "rules" / "target"
TYPES = {"fp16": FLOAT16, "bf16": BFLOAT16}
# ORT's name for a cast that it adds around a node without a kernel for fp16.
INSERTED = "InsertedPrecisionFreeCast"
DOMAINS = ("", "ai.onnx.preview")
OUTCOMES = ("-", "native", "casts", "none")
BROKEN = "the runtime's process ended"


# --- one question ----------------------------------------------------------------------------------------------------

def run(domain, name, opset, elem, variant, optimise):
    """"native" or "casts"; raises where the runtime does not take the model."""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    schema = next(s for s, first, _ in one_node.schemas(domain)[name] if first == opset)
    model, feeds = one_node.make(schema, NEWEST if domain else opset, elem, tuple(variant))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        if not optimise:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.optimized_model_filepath = f"{folder}/seen.onnx"
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        session.run(None, feeds)
        if optimise:
            return "native"
        seen = onnx.load(f"{folder}/seen.onnx")
    return "casts" if inserted(seen.graph) else "native"


def inserted(graph):
    """Whether the runtime has put casts around nodes of the graph or its bodies."""
    return any(any(INSERTED in name for name in [*node.input, *node.output]) or
               any(inserted(a.g) for a in node.attribute if a.HasField("g")) for node in graph.node)


def rank(outcome):
    return OUTCOMES.index(outcome[0])


def serve(run):
    """Answers requests, one a line: [outcome, error]."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer = [run(*json.loads(line)), ""]
        except Exception as error:
            answer = ["none", " ".join(str(error).split())[:300]]
        print(json.dumps(answer), file=answers, flush=True)


class Runtime:
    """The runtime in a process of its own, begun anew where it broke."""

    def __init__(self, script):
        self.script = script
        self.process = None

    def ask(self, *request):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, self.script, "--serve"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        code = self.process.wait()
        self.process = None
        return ["none", f"{BROKEN} with {code}"]

    def outcome(self, *question):
        """The worse one of those with and without the optimiser."""
        return max((tuple(self.ask(*question, optimise)) for optimise in (False, True)), key=rank)

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def measure(only=(), script=__file__):
    """(domain, operator) -> [(first opset, last opset, {"fp16": (outcome, error), "bf16": …})], and what was not asked."""
    found, unasked = {}, {}
    runtime = Runtime(script)
    for domain in DOMAINS:
        for name, versions in one_node.schemas(domain).items():
            if only and name not in only:
                continue
            rows = []
            for schema, first, last in versions:
                row = {text: ("-", "") for text in TYPES}
                rows.append((first, last, row))
                asked = {text: elem for text, elem in TYPES.items() if one_node.admits(schema, elem)}
                if not asked:
                    continue
                try:
                    one_node.make(schema, NEWEST if domain else first, FLOAT)
                except Unmade as why:
                    unasked[domain, name] = str(why)
                    continue
                question = (domain, name, first)
                ways = [v for v in one_node.variants(schema) if runtime.outcome(*question, FLOAT, v)[0] != "none"]
                for text, elem in asked.items():
                    row[text] = max((runtime.outcome(*question, elem, v) for v in ways), default=row[text], key=rank)
            found[domain, name] = rows
    runtime.close()
    return found, unasked


# --- profiles --------------------------------------------------------------------------------------------------------

def condition(rows, text, listed):
    """Opsets at which the operator is in the list, as a `where` clause; "" for all, None for none. Where nothing is to be
    said, an opset goes with its neighbours."""
    said = [(first, last, row[text][0] in listed) for first, last, row in rows if row[text][0] != "-"]
    if not any(yes for _, _, yes in said):
        return None
    clauses = []
    runs = [(yes, list(group)) for yes, group in itertools.groupby(said, key=lambda s: s[2])]
    for i, (yes, group) in enumerate(runs):
        if not yes:
            continue
        bounds = [f"opset >= {group[0][0]}"] if i > 0 else []
        bounds += [f"opset < {runs[i + 1][1][0][0]}"] if i + 1 < len(runs) else []
        single = len(bounds) == 2 and group[0][0] + 1 == runs[i + 1][1][0][0]
        clauses.append(f"opset == {group[0][0]}" if single else " and ".join(bounds))
    return " or ".join(f"({c})" if len(clauses) > 1 and " and " in c else c for c in clauses)


def listed(found, outcomes):
    """Profile -> {(type, operator): condition}, of the outcome that the profile lists."""
    result = {}
    for profile, outcome in outcomes.items():
        result[profile] = {}
        for text in TYPES:
            for (domain, name), rows in found.items():
                where = condition(rows, text, {outcome})
                if where is not None:
                    result[profile][text, f"{domain}::{name}" if domain else name] = where
    return result


def statements(entries):
    groups = {}
    for (text, name), where in entries.items():
        groups.setdefault((list(TYPES).index(text), where), []).append(name)
    for (index, where), names in sorted(groups.items()):
        # A comparison stays on one line.
        tied = re.sub("opset (\\S+) ", r"opset~\1~", where)
        line = f"unsupported {list(TYPES)[index]}: {', '.join(sorted(names))}" + (f" where {tied}" if where else "")
        yield textwrap.fill(line, 120, subsequent_indent="  ", break_on_hyphens=False).replace("~", " ")


def entries_of(path):
    """What a profile lists, as listed() gives it."""
    text = " ".join(re.sub("#.*", "", path.read_text()).split()) if path.exists() else ""
    found = {}
    for statement in re.split(r"\bunsupported ", text)[1:]:
        kind, names, where = re.fullmatch(r"(\w+): (.*?)(?: where (.*))?", statement.strip()).groups()
        found.update({(kind, name): where or "" for name in names.split(", ")})
    return found


LISTS = {"ort-cpu.amp": "none", "ort-cpu-native.amp": "casts"}


def versions():
    import onnxruntime
    return f"onnxruntime {onnxruntime.__version__} and onnx {onnx.__version__}"


def comment(*paragraphs):
    return "\n#\n".join(textwrap.fill(" ".join(p.split()), 120, initial_indent="# ", subsequent_indent="# ",
                                      break_on_hyphens=False) for p in paragraphs)


def profiles(found, unasked):
    """File name -> text."""
    heads = {
        "ort-cpu.amp": comment(
            f"Measured with {versions()}, by tests/target/probe_ort_cpu.py --write.",
            f"""What onnxruntime's CPU does not load or run, at opsets {OLDEST} to {NEWEST}. Nearly all operators run in fp16, but through
            casts to fp32 that the runtime adds by itself: there fp16 is a form of storage, and target/ort-cpu-native.amp lists
            what has no kernel of its own. It adds none for bf16, so an operator without a kernel for bf16 does not load.""",
            """Where the runtime has no fp32 kernel either, nothing is said. Nor of operators on sequences and optionals, which keep
            their types: """ + ", ".join(name for _, name in sorted(unasked)) + ".")
        + '\n\nimport "ort-cpu/com.microsoft.amp" for com.microsoft',
        "ort-cpu-native.amp": comment(
            f"Measured with {versions()}, by tests/target/probe_ort_cpu.py --write.",
            """What onnxruntime's CPU has no kernel of its own for, and would run in fp32 between casts that it adds. Left in fp32
            these nodes need no such casts, and what they make is not rounded; but their weights stay fp32 in the file.""")
        + '\n\nimport "ort-cpu.amp"'}
    return {name: "\n".join(["amp 1", "", heads[name], "", *statements(entries), ""])
            for name, entries in listed(found, LISTS).items()}


def differences(found, outcomes):
    """Where the profiles say something else of these operators, a line each."""
    asked = {f"{domain}::{name}" if domain else name for domain, name in found}
    for profile, now in listed(found, outcomes).items():
        before = {key: where for key, where in entries_of(PROFILES / profile).items() if key[1] in asked}
        for key in sorted(before.keys() | now.keys()):
            if before.get(key) == now.get(key):
                continue
            said, measured = ("not listed" if where is None else where or "every opset" for where in (before.get(key), now.get(key)))
            yield f"{profile}: {key[0]} {key[1]}: {said}; now {measured}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    for option in ("write", "check", "show"):
        what.add_argument(f"--{option}", action="store_true")
    what.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="operators, separated by commas (with --show)")
    args = parser.parse_args()
    if args.serve:
        return serve(run)
    only = set(filter(None, args.only.split(",")))
    if args.check and not os.environ.get("AMPC_FULL"):
        only = set(sorted(name for domain in DOMAINS for name in one_node.schemas(domain))[::8])
    found, unasked = measure(only)
    if args.show:
        for (domain, name), rows in found.items():
            for first, last, row in rows:
                for text, (outcome, error) in row.items():
                    print(f"{domain or 'ai.onnx'} {name} [{first}, {last}] {text}: {outcome} {error}".rstrip())
        return 0
    if args.write:
        PROFILES.mkdir(exist_ok=True)
        for name, text in profiles(found, unasked).items():
            (PROFILES / name).write_text(text)
        return 0
    lines = list(differences(found, LISTS))
    print("\n".join(lines + [f"{len(found)} operators asked of {versions()}, differences: {len(lines)}"]))
    same_version = f"# Measured with {versions()}," in (PROFILES / "ort-cpu.amp").read_text()
    return 0 if not lines else 1 if same_version else 77


if __name__ == "__main__":
    sys.exit(main())
