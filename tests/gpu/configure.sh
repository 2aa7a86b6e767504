#!/usr/bin/env bash
# What AMPC_CUDA makes of a machine without nvcc: AUTO goes on and says so, ON says what to install, OFF asks for nothing.
#
#   configure.sh CMAKE SOURCE_DIR
set -euo pipefail
cmake=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES CXX)
include("$source/cmake/Cuda.cmake")
message(STATUS "sources \${ampc_cuda_sources}, have \${ampc_have_cuda}")
END

# configure NAME WANTED_STATUS CMAKE_ARGUMENT… ; the output is in $work/NAME.log, line breaks made spaces
configure() {
  local name=$1 wanted=$2 status=0
  shift 2
  env -u CUDACXX "$cmake" -S "$work" -B "$work/$name" "$@" >"$work/out" 2>&1 || status=$?
  tr -s ' \n' ' ' <"$work/out" >"$work/$name.log"
  if [ "$status" -ne "$wanted" ]; then
    echo "$name: cmake ended with $status, not $wanted:"
    cat "$work/out"
    exit 1
  fi
}
expect() {
  if ! grep -qF -- "$2" "$work/$1.log"; then
    echo "$1: expected '$2' in:"
    cat "$work/$1.log"
    exit 1
  fi
}

none=-DCMAKE_CUDA_COMPILER=NOTFOUND
configure auto 0 "$none"
expect auto "CUDA: left out, there is no nvcc that works"
expect auto "no_cuda.cc, have OFF"
configure on 1 "$none" -DAMPC_CUDA=ON
expect on "Install the CUDA toolkit, 12.0 or newer"
expect on "-DAMPC_CUDA=OFF"
configure off 0 -DAMPC_CUDA=OFF
expect off "CUDA: left out, as AMPC_CUDA says"
expect off "no_cuda.cc, have OFF"
configure sanitized 0 -DAMPC_SANITIZE=address
expect sanitized "CUDA: left out of a build with sanitizers"
configure wrong 1 -DAMPC_CUDA=maybe
expect wrong "AMPC_CUDA is 'maybe'"
echo "AMPC_CUDA does as it says"
