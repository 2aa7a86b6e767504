#!/usr/bin/env bash
# clang-tidy over our C++, by the compile commands of a build folder.
#
#   clang_tidy.sh BUILD_DIR [FILE…]
#
# Takes minutes, so that it runs under AMPC_FULL=1 (tests/run.sh --full) or for the files that are named.
set -euo pipefail
build=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! command -v clang-tidy >/dev/null; then
  echo "skipped: clang-tidy is not installed"
  exit 77
fi
if [ $# -eq 0 ] && [ -z "${AMPC_FULL:-}" ]; then
  echo "skipped: it takes minutes; tests/run.sh --full runs it"
  exit 77
fi
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(find src tests -name '*.cc' | sort)
# A file that this build has no command for (a benchmark that is not configured) is not looked at.
known=()
for file in "${files[@]}"; do
  if grep -qF "/$file\"" "$build/compile_commands.json"; then known+=("$file"); fi
done
printf '%s\0' "${known[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p "$build" 2>/dev/null
echo "${#known[@]} files are clean"
