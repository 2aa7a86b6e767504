#!/usr/bin/env bash
# What compiling costs: ampc, its peers and the least it can take, in one run on this machine, as one table.
#
#   tests/bench/run.sh [--build DIR] [OPTION…]
#
# Brings what it needs: the release build with its benchmarks, or the one in DIR as it is; the peers, in a Python environment in
# the cache folder; the models, of up to 6 GB, in a temporary folder (9 GB of disk, 16 GB of memory for the peers).
# Options are bench.py's: --models small,large,external,chain5000,chain50000,chain500000, --runs N, --no-peers, --check,
# --folder DIR, --keep, --json FILE. --quick takes seconds and judges what holds on a busy machine too.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

build=
if [ "${1:-}" = --build ]; then
  build=$2
  shift 2
fi
if [ -z "$build" ]; then
  env=$("$root/cmake/setup.sh")
  eval "$env"
  export AMPC_CACHE_DIR
  (cd "$root" && "$AMPC_CMAKE" --preset release -DAMPC_PYTHON="$AMPC_PYTHON" && "$AMPC_CMAKE" --build --preset release --target benchmarks) >&2
  build=$root/build/release
fi

cache=${AMPC_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:?HOME is not set, and neither is AMPC_CACHE_DIR}/.cache}/ampc}
mkdir -p "$cache"
key=$(cat <(python3 --version) "$here/requirements.txt" | sha256sum | cut -c1-12)
venv=$cache/bench-$key
exec 9>"$cache/bench.lock"
flock 9
# The mark is written last: an environment without it is one that was broken off.
if [ ! -e "$venv/complete" ] || ! [ -x "$venv/bin/python" ]; then
  rm -rf "$venv"
  if ! { python3 -m venv "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$here/requirements.txt"; } >&2; then
    echo "bench: the peers that $here/requirements.txt names cannot be installed" >&2
    exit 77
  fi
  touch "$venv/complete"
fi
exec 9>&-
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" "$here/bench.py" --ampc "$build/bin/ampc" --tools "$build/tests/bench" "$@"
