#!/usr/bin/env bash
# The whole test suite, from nothing: set-up, build, every test. A second run builds nothing and goes straight to the tests.
#
#   tests/run.sh [--full] [CTEST ARGUMENT…]
#
# --full adds what takes long: every model in every mode, more drawn graphs, cast kernels over all 2^32 floats, clang-tidy.
# Anything else is ctest's, such as -R e2e.matrix.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1:-}" = --full ]; then
  export AMPC_FULL=1
  shift
fi
env=$(cmake/setup.sh)
eval "$env"
export AMPC_CACHE_DIR
"$AMPC_CMAKE" --preset release -DAMPC_PYTHON="$AMPC_PYTHON" -DPython3_EXECUTABLE="$AMPC_PYTHON"
"$AMPC_CMAKE" --build --preset release
exec "$AMPC_CTEST" --preset release -j "$(nproc)" "$@"
