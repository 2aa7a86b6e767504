#!/usr/bin/env bash
# Brings what building and testing need, and what is already there costs nothing: Debian packages, a Python
# environment, onnx's C++ library. Everything but the packages goes to the cache folder
# (AMPC_CACHE_DIR, else XDG_CACHE_HOME/ampc, else ~/.cache/ampc), under keys of versions and options.
#
#   env=$(cmake/setup.sh) && eval "$env"
#
# sets AMPC_CACHE_DIR, AMPC_PYTHON, AMPC_CMAKE, AMPC_CTEST and AMPC_ONNX. Messages go to stderr.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cmake_pin=3.31.6   # where the system's is older than onnx's build takes
cmake_least=3.26

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# --- Debian packages -------------------------------------------------------------------------------------------------

libraries=(libantlr4-runtime-dev libtbb-dev libyaml-cpp-dev libgtest-dev libgmock-dev libbenchmark-dev libprotobuf-dev
           libcli11-dev libfmt-dev libre2-dev libhwy-dev libboost-dev nlohmann-json3-dev libxxhash-dev libdtl-dev)
# A tool that is on the path counts, whoever installed it.
tools=(antlr4:antlr4 protoc:protobuf-compiler ninja:ninja-build ccache:ccache c++:g++ cmake:cmake make:make pkg-config:pkg-config
       man:man-db groff:groff-base zsh:zsh fish:fish python3:python3 flock:util-linux unshare:util-linux sha256sum:coreutils dpkg-shlibdeps:dpkg-dev file:file)

missing_packages() {
  local entry known
  for entry in "${tools[@]}"; do
    have "${entry%%:*}" || echo "${entry#*:}"
  done
  if ! have python3 || ! python3 -c 'import ensurepip, venv' 2>/dev/null; then echo python3-venv; fi
  known=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${libraries[@]}" 2>/dev/null || true)
  for entry in "${libraries[@]}"; do
    grep -qx "installed $entry" <<<"$known" || echo "$entry"
  done
}

install_packages() {
  if ! have apt-get; then
    have dpkg-query || say "this is no Debian; its packages are not looked at"
    return 0
  fi
  local missing as_root=()
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || die "these Debian packages are missing, and there is no sudo to install them with: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}")
  # Package lists are fetched only where the ones that are there do not do.
  if ! "${install[@]}" >"$log" 2>&1 && ! { "${as_root[@]}" apt-get update >>"$log" 2>&1 && "${install[@]}" >>"$log" 2>&1; }; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "apt-get could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

# --- Python environment ----------------------------------------------------------------------------------------------

at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

make_venv() {
  local wanted key
  wanted=$(grep -v '^#' "$here/requirements.txt")
  if ! at_least "$(cmake --version | sed -n '1s/.* //p')" "$cmake_least"; then
    wanted+=$'\n'"cmake==$cmake_pin"
  fi
  local python
  python=$(python3 -c 'import sys; print(sys.executable, "%d.%d" % sys.version_info[:2])')
  at_least "${python##* }" 3.11 || die "Python 3.11 or newer is needed; ${python% *} is ${python##* }"
  key=$(printf '%s\n' "$python" "$wanted" | sha256sum | cut -c1-12)
  venv="$cache/venv-$key"
  # The mark is written last: an environment without it is one that was broken off.
  if [ ! -e "$venv/complete" ] || ! [ -x "$venv/bin/python" ]; then
    say "making a Python environment in $venv"
    rm -rf "$venv"
    python3 -m venv "$venv" || die "python3 -m venv failed"
    printf '%s\n' "$wanted" >"$venv/requirements.txt"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$venv/requirements.txt" >&2 ||
      die "pip could not install what $here/requirements.txt names"
    touch "$venv/complete"
  fi
  cmake=$(command -v cmake)
  ctest=$(command -v ctest)
  if [ -x "$venv/bin/cmake" ]; then
    cmake="$venv/bin/cmake"
    ctest="$venv/bin/ctest"
  fi
}

# --- all -------------------------------------------------------------------------------------------------------------

install_packages
for tool in python3 cmake c++ antlr4 ninja pkg-config; do
  have "$tool" || die "$tool is not on the path"
done
if [ -n "${AMPC_CACHE_DIR:-}" ]; then
  cache=$AMPC_CACHE_DIR
elif [ -n "${XDG_CACHE_HOME:-}" ]; then
  cache=$XDG_CACHE_HOME/ampc
else
  cache=${HOME:?HOME is not set, and neither is AMPC_CACHE_DIR}/.cache/ampc
fi
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
exec 9>"$cache/setup.lock"
flock 9  # two at a time would build the same things twice
make_venv
onnx=$(AMPC_CACHE_DIR=$cache "$cmake" "-DPYTHON=$venv/bin/python" -P "$here/BuildOnnx.cmake" 9>&- 2>&1 | tee >(grep -v '^-- onnx at ' >&2)) ||
  die "onnx's C++ library could not be built"
onnx=$(sed -n 's/^-- onnx at //p' <<<"$onnx")

printf '%s=%q\n' AMPC_CACHE_DIR "$cache" AMPC_PYTHON "$venv/bin/python" AMPC_CMAKE "$cmake" AMPC_CTEST "$ctest" AMPC_ONNX "$onnx"
