#!/usr/bin/env bash
# Whether our C++ is laid out as .clang-format says. `--fix` lays it out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! command -v clang-format >/dev/null; then
  echo "skipped: clang-format is not installed"
  exit 77
fi
mapfile -t files < <(find src tests -name '*.cc' -o -name '*.cu' -o -name '*.h' | sort)
if [ "${1:-}" = --fix ]; then
  exec clang-format -i "${files[@]}"
fi
clang-format --dry-run --Werror "${files[@]}"
echo "${#files[@]} files are laid out as .clang-format says"
