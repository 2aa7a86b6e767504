#!/usr/bin/env python3
"""Nodes that no list decides: how much is cast when they follow, are promoted, or are decided by the cut.

    gray.py --ampc PATH [--models DIR] [--only NAMES] [--modes "fp16 O1 keep,…"] [--others]

Compiles every case and every real model with --no-promote, --promote and --gray cut, and counts the casts of the results
and the bytes that these read and write, by onnx's shape inference. The cut must never need more casts than either of the
others, nor more bytes than one that needs as few: fewer bytes are not bought with casts. (Where a level's default is
fp32, as at OD, nodes that no list names are open to the cut alone, and what is found of ranges holds some of them: there
it is compared with the two over the same open nodes, not with runs of their own.) --others adds the casts that onnxconverter-common's and onnxruntime's converters to float16
make, where these packages are installed. Exit 1 where the cut is not the least.
"""

import argparse
import dataclasses
import json
import logging
import os
import sys
import tempfile
from pathlib import Path

import onnx
from onnx import AttributeProto

from compiler import ALL_MODES, CASES, MODELS_LIST, Compiler, Mode, add_arguments, said
from modelfacts import FLOAT_BYTES, attribute, graphs

WAYS = {"follow": ("local", "--no-promote"), "promote": ("local", "--promote"), "cut": ("cut", "--no-promote")}
# What stands in for a length that nothing tells, and for a whole shape: as src/ampc/model/shapes.h has it.
UNKNOWN_DIMENSION, UNKNOWN_ELEMENTS = 64, 4096


def count_of(tensor_type):
    if not tensor_type.HasField("shape"):
        return None
    count = 1
    for dim in tensor_type.shape.dim:
        count *= max(1, dim.dim_value) if dim.HasField("dim_value") else UNKNOWN_DIMENSION
    return count


def measure_graph(graph, outer):
    """(casts, bytes) of the float casts of a graph and what is nested in it."""
    known = dict(outer)
    for info in [*graph.input, *graph.output, *graph.value_info]:
        tensor = info.type.tensor_type
        known[info.name] = (count_of(tensor), tensor.elem_type)
    for tensor in graph.initializer:
        known[tensor.name] = (max(1, int(onnx.numpy_helper.to_array(tensor).size)) if not tensor.external_data
                              else 1, tensor.data_type)
    casts = size = 0
    for info in graph.input:
        count, kind = known[info.name]
        known[info.name] = (count or UNKNOWN_ELEMENTS, kind)
    for node in graph.node:
        for a in node.attribute:
            if a.type == AttributeProto.GRAPH:
                more = measure_graph(a.g, known)
                casts, size = casts + more[0], size + more[1]
        most = max((known.get(name, (None, 0))[0] or 0 for name in node.input if name), default=0)
        for name in node.output:
            count, kind = known.get(name, (None, 0))
            known[name] = (count or most or UNKNOWN_ELEMENTS, kind)
        if node.op_type != "Cast" or node.domain not in ("", "ai.onnx"):
            continue
        count, source = known.get(node.input[0], (UNKNOWN_ELEMENTS, 0))
        target = attribute(node, "to").i
        if source in FLOAT_BYTES and target in FLOAT_BYTES:
            casts += 1
            size += count * (FLOAT_BYTES[source] + FLOAT_BYTES[target])
    return casts, size


def measure(path):
    model = onnx.load(path)
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # what onnx cannot infer is measured as far as the model tells
        pass
    return measure_graph(model.graph, {})


def elsewhere(path):
    """Casts that other converters make; None where one is not installed, or fails on the model."""
    found = []
    for load in (occ, ort):
        try:
            model = load()(onnx.load(path), keep_io_types=True)
            found.append(sum(node.op_type == "Cast" for graph in graphs(model.graph) for node in graph.node))
        except Exception:
            found.append(None)
    return found


def occ():
    from onnxconverter_common import float16
    return float16.convert_float_to_float16


def ort():
    from onnxruntime.transformers import float16
    return float16.convert_float_to_float16


def subjects(args):
    found = [(spec.stem, spec.with_suffix(".onnx")) for spec in sorted(args.cases.glob("*.json"))]
    if args.models:
        found += [(e["name"], args.models / f"{e['name']}.onnx") for e in json.loads(MODELS_LIST.read_text())]
    only = set(filter(None, args.only.split(",")))
    return [(name, path) for name, path in found if path.exists() and (not only or name in only)]


def size_text(size):
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--models", type=Path, help="folder of the real models")
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--only", default="", help="names, separated by commas")
    every = [str(mode) for mode in ALL_MODES if mode == Mode(mode.dtype, mode.level, mode.io)]
    few = ["fp16 O1 keep", "fp16 O2 keep", "bf16 O1 low"]
    parser.add_argument("--modes", default=",".join(every if os.environ.get("AMPC_FULL") else few),
                        help="separated by commas; default: three, or all under AMPC_FULL=1")
    parser.add_argument("--others", action="store_true", help="compare with other converters' casts")
    parser.add_argument("--changed", action="store_true", help="print only models where the three differ")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)

    compiler = Compiler(args.ampc, args.rules).require_rules()
    work = subjects(args)
    width = max((len(name) for name, _ in work), default=5)
    failures, better = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.onnx"
        for mode in [Mode.parse(text) for text in args.modes.split(",")]:
            heads = [*WAYS, *(("common", "ort") if args.others else ())]
            print(f"\n{str(mode):<{width}}", *(f"{head:>16}" for head in heads))
            for name, path in work:
                row = {}
                for way, (gray, promote) in WAYS.items():
                    done = compiler.run(path, out, dataclasses.replace(mode, gray=gray), ["-q", promote])
                    if done.returncode != 0:
                        failures.append(f"{name} [{mode}] {way}: {said(done)}")
                        break
                    row[way] = measure(out)
                if len(row) < len(WAYS):
                    continue
                local = [row["follow"], row["promote"]]
                most = min(casts for casts, _ in local)
                if row["cut"][0] > most:
                    failures.append(f"{name} [{mode}]: the cut has {row['cut'][0]} casts, not {most}")
                least = min(size for casts, size in local if casts == most)
                if row["cut"][1] > least:
                    failures.append(f"{name} [{mode}]: the cut casts {row['cut'][1]} bytes, not {least}")
                better += all(row["cut"] != one and row["cut"][1] <= one[1] for one in local)
                if args.changed and len(set(row.values())) == 1:
                    continue
                cells = [f"{casts:>5} {size_text(size):>10}" for casts, size in row.values()]
                cells += [f"{'-' if n is None else n:>16}" for n in (elsewhere(path) if args.others else ())]
                print(f"{name:<{width}}", *cells)
    for failure in failures:
        print("FAILED:", failure)
    print(f"\n{len(work)} models, the cut casts less than both others in {better} results")
    return int(bool(failures) or not work)


if __name__ == "__main__":
    sys.exit(main())
