#!/usr/bin/env python3
"""Which operators OpenVINO's CPU takes in fp16 and bf16, measured as probe_ort_cpu.py does; rules/target/openvino.amp is made
of it. OpenVINO is no part of the project's Python environment: install it into one of its own, with onnx and numpy.

    probe_openvino.py --write     write the profile
    probe_openvino.py --check     hold it against the OpenVINO that is installed: exit 1 where they differ
"""

import argparse
import sys

import one_node
import probe_ort_cpu as probe

PROFILE = "openvino.amp"
LISTS = {PROFILE: "none"}


def run(domain, name, opset, elem, variant, optimise):
    """"native"; raises where the runtime does not take the model. It has no optimiser to turn off."""
    import openvino
    schema = next(s for s, first, _ in one_node.schemas(domain)[name] if first == opset)
    model, feeds = one_node.make(schema, one_node.NEWEST if domain else opset, elem, tuple(variant))
    core = openvino.Core()
    read = core.read_model(model.SerializeToString())
    # An input that nothing reads, such as a condition that was folded, is gone.
    names = {name for value in read.inputs for name in value.names}
    core.compile_model(read, "CPU")({key: value for key, value in feeds.items() if key in names})
    return "native"


def profile(found):
    import onnx
    import openvino
    head = probe.comment(
        f"Measured with openvino {openvino.__version__.split('-')[0]} and onnx {onnx.__version__}, by "
        "tests/target/probe_openvino.py --write.",
        f"""What OpenVINO's CPU does not read or run, at opsets {one_node.OLDEST} to {one_node.NEWEST}; where it does not in fp32
        either, nothing is said. It chooses the type that it computes in by itself (docs.openvino.ai, "Precision Control"): the
        types of the model are how its weights are stored. Its GPU is not measured.""")
    return "\n".join(["amp 1", "", head, "", *probe.statements(probe.listed(found, LISTS)[PROFILE]), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    what.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return probe.serve(run)
    found, _ = probe.measure(script=__file__)
    if args.write:
        (probe.PROFILES / PROFILE).write_text(profile(found))
        return 0
    lines = list(probe.differences(found, LISTS))
    print("\n".join(lines + [f"{len(found)} operators asked, differences: {len(lines)}"]))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
