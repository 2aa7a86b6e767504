#!/usr/bin/env bash
# Whether the program has machine code for every architecture that it was configured for, and moves 128 bits at a time.
#
#   code.sh CUOBJDUMP PROGRAM ARCHITECTURE…     as CMAKE_CUDA_ARCHITECTURES has them: 80-real, 75-virtual
set -euo pipefail
cuobjdump=$1
program=$2
shift 2
if ! command -v "$cuobjdump" >/dev/null; then
  echo "skipped: cuobjdump is not installed"
  exit 77
fi
elf=$("$cuobjdump" --list-elf "$program")
ptx=$("$cuobjdump" --list-ptx "$program")
for arch in "$@"; do
  case $arch in
    *-real) found=$(grep -cF "sm_${arch%-real}." <<<"$elf" || true) ;;
    *-virtual) found=$(grep -cF "sm_${arch%-virtual}." <<<"$ptx" || true) ;;
    *) found=$(grep -cF "sm_$arch." <<<"$elf" || true) ;;
  esac
  if [ "$found" -eq 0 ]; then
    printf 'nothing for %s in:\n%s\n%s\n' "$arch" "$elf" "$ptx"
    exit 1
  fi
done
# The disassembler is a program of its own.
if command -v nvdisasm >/dev/null || [ -x "$(dirname "$(command -v "$cuobjdump")")/nvdisasm" ]; then
  first=${1%-real}
  code=$(PATH="$PATH:$(dirname "$(command -v "$cuobjdump")")" "$cuobjdump" -sass -arch "sm_$first" "$program")
  for access in LDG.E.128 STG.E.128; do
    grep -qF "$access" <<<"$code" || { echo "no $access for sm_$first"; exit 1; }
  done
fi
echo "code for $*"
