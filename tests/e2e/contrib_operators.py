#!/usr/bin/env python3
"""Declarations of onnxruntime's own operators, in the rule language, from the schemas of the installed onnxruntime.

    contrib_operators.py --ampc PATH            where the installed onnxruntime differs from rules/domains
    contrib_operators.py --ampc PATH --write    rewrites the declarations there

What stands above the line that says so is written by hand and stays.
"""

import argparse
import difflib
import subprocess
import sys

import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from compiler import REPOSITORY

FOLDER = REPOSITORY / "rules" / "domains"
DOMAINS = ["ai.onnx", "com.microsoft", "com.microsoft.nchwc"]
# What onnxruntime adds to ONNX's own domain and writes into models; the rest of that are relics and operators of plugins.
ADDED = {"SimplifiedLayerNormalization"}
BEGIN = "# --- Declarations, as onnxruntime {} has them (tests/e2e/contrib_operators.py writes what follows) ---\n"
TYPES = {"float": "fp32", "float16": "fp16", "bfloat16": "bf16", "double": "fp64"}
ATTRIBUTES = {"INT": "int", "FLOAT": "float", "STRING": "string", "INTS": "ints", "FLOATS": "floats", "STRINGS": "strings",
              "TENSOR": "tensor", "GRAPH": "graph", "TYPE_PROTO": "type"}
OTHERS = {"seq": "sequence", "optional": "optional", "map": "map", "sparse_tensor": "sparse"}
SKIPPED = 77


def type_name(text):
    kind, _, inner = text.partition("(")
    inner = inner.removesuffix(")")
    return TYPES.get(inner, inner) if kind == "tensor" else OTHERS[kind]


def number(value):
    """The shortest decimal that is this float."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if onnx.helper.make_attribute("x", float(text)).f == value:
            return text
    return repr(value)


def attribute(name, formal):
    kind = ATTRIBUTES.get(str(formal.type).removeprefix("AttrType."), "other")
    default = onnx.AttributeProto.FromString(formal._default_value)
    if default.name and kind in ("int", "float", "string"):
        text = {"int": str(default.i), "float": number(default.f)}.get(kind)
        if text is None:
            text = '"' + default.s.decode().replace("\\", "\\\\").replace('"', '\\"') + '"'
        return f"{name}: {kind} = {text}"
    return f"{name}{'' if formal.required else '?'}: {kind}"


def formals(formal_list):
    def one(formal):
        option = str(formal.option)
        mark = "..." if "Variadic" in option else "?" if "Optional" in option else ""
        kind = type_name(formal.typeStr) if "(" in formal.typeStr else formal.typeStr
        each = "" if formal.isHomogeneous else "each "
        return f"{formal.name}{mark}: {each}{kind}"

    return "(" + ", ".join(one(f) for f in formal_list) + ")"


def laid_out(ampc, text):
    done = subprocess.run([ampc, "fmt", "-"], input=f"amp 1\n\n{text}", capture_output=True, text=True, check=True)
    return done.stdout.removeprefix("amp 1\n\n")


def declaration(schema):
    head = f"extern {schema.domain or 'ai.onnx'}::{schema.name}"
    if schema.since_version != 1:
        head += f" since {schema.since_version} "
    if schema.attributes:
        head += "<" + ", ".join(attribute(n, a) for n, a in sorted(schema.attributes.items())) + ">"
    used = {f.typeStr for f in list(schema.inputs) + list(schema.outputs)}
    variables = []
    for constraint in schema.type_constraints:
        if constraint.type_param_str not in used:
            continue
        types = []
        for text in constraint.allowed_type_strs:
            if type_name(text) not in types:
                types.append(type_name(text))
        variables.append(f"{constraint.type_param_str} in {', '.join(types)}")
    text = head + formals(schema.inputs) + " -> " + formals(schema.outputs)
    if variables:
        text += " where " + " and ".join(variables)
    return text + "\n"


def declarations(domain, ampc):
    schemas = [s for s in state.get_all_operator_schema() if (s.domain or "ai.onnx") == domain and not s.deprecated]
    if domain == "ai.onnx":
        schemas = [s for s in schemas if s.name in ADDED]
    schemas.sort(key=lambda s: (s.name, s.since_version))
    head = BEGIN.format(onnxruntime.__version__)
    return laid_out(ampc, head + "\n" + "".join(declaration(s) for s in schemas))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    differ = False
    for domain in DOMAINS:
        path = FOLDER / f"{domain}.amp"
        text = path.read_text()
        begin = text.index(BEGIN.partition("{}")[0])
        wanted = declarations(domain, args.ampc)
        if args.write:
            path.write_text(text[:begin] + wanted)
            continue
        lines = list(difflib.unified_diff(text[begin:].splitlines(), wanted.splitlines(), f"rules/domains/{path.name}",
                                          f"onnxruntime {onnxruntime.__version__}", lineterm="", n=0))
        print("\n".join(lines) or f"rules/domains/{path.name} is what onnxruntime {onnxruntime.__version__} declares")
        if lines and f"onnxruntime {onnxruntime.__version__} " not in text[begin:].splitlines()[0]:
            print("another version of onnxruntime is installed than the one that was read")
            return SKIPPED
        differ = differ or bool(lines)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
