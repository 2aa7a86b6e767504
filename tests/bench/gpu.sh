#!/usr/bin/env bash
# Casting on this machine's NVIDIA devices: what the devices give is held against the CPU bit for bit, then both are timed,
# beside the copies that no cast on a device can be faster than. Minutes; exit status 77 where there is no device.
#
#   gpu.sh [--build DIR]     brings the release build, or takes the one in DIR as it is
#   gpu.sh --pack DIR        makes a folder of what the measurement needs, for a machine that has a device and builds nothing
#   DIR/gpu.sh               measures there
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

pack=
build=
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2 ;;
    --pack) pack=$2 ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
  shift 2
done

if [ -e "$here/packed" ]; then
  export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  bin=$here/bin
  parity=$bin/gpu_parity
  rates=$bin/gpu_rates
  rules=$here/share/ampc/rules/default.amp
else
  root=$(cd "$here/../.." && pwd)
  if [ -z "$build" ]; then
    env=$("$root/cmake/setup.sh")
    eval "$env"
    export AMPC_CACHE_DIR
    build=$root/build/release
    (cd "$root" && "$AMPC_CMAKE" --preset release -DAMPC_PYTHON="$AMPC_PYTHON" && "$AMPC_CMAKE" --build --preset release --target ampc_cli gpu_parity gpu_rates) >&2
  fi
  bin=$build/bin
  parity=$build/tests/gpu/gpu_parity
  rates=$build/tests/bench/gpu_rates
  rules=$root/rules/default.amp
fi

if [ -n "$pack" ]; then
  mkdir -p "$pack/bin" "$pack/lib" "$pack/share/ampc"
  cp "${BASH_SOURCE[0]}" "$pack/gpu.sh"
  cp "$bin/ampc" "$parity" "$rates" "$pack/bin"
  cp -r "$(dirname "$rules")" "$pack/share/ampc/rules"
  # All that they load, but the C library, which belongs to the machine.
  ldd "$pack"/bin/* | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv)\.so' | xargs -I{} cp -L {} "$pack/lib"
  touch "$pack/packed"
  du -sh "$pack"
  exit 0
fi

command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total,pcie.link.gen.max,pcie.link.width.max --format=csv,noheader || true
begin=$SECONDS
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
echo "== bit for bit"
"$parity" --gtest_brief=0 >"$log/parity" 2>&1 || { cat "$log/parity"; exit 1; }
if ! grep -q '^\[       OK \]' "$log/parity"; then
  grep -m 1 'no CUDA device' "$log/parity" || cat "$log/parity"
  echo "skipped"
  exit 77
fi
grep -E '^\[ +(OK|SKIPPED) +\]|PASSED' "$log/parity"
echo "== rates of sources"
"$rates"
echo "== the program, $("$bin/ampc" --version): 2 GB of weights in the page cache, medians of 5 whole runs"
"$rates" model "$log/model.onnx" 52 3200
bytes=$(stat -c %s "$log/model.onnx.weights")
declare -A times
for turn in 0 1 2 3 4 5; do  # the first warms up
  for device in cpu cuda auto; do
    rm -f "$log"/out.onnx*
    start=$(date +%s%N)
    "$bin/ampc" "$rules" "$log/model.onnx" -o "$log/out.onnx" --external-data --cast-device "$device" -v >"$log/said" 2>&1 || { cat "$log/said"; exit 1; }
    took=$(($(date +%s%N) - start))
    grep -E 'AMPC2009|--cast-device' "$log/said" >"$log/said.$device" || true
    [ "$turn" -eq 0 ] || times[$device]+="$took "
    [ -e "$log/first.onnx" ] || { cp "$log/out.onnx" "$log/first.onnx"; cp "$log/out.onnx.data" "$log/first.onnx.data"; }
    cmp "$log/out.onnx" "$log/first.onnx"
    cmp "$log/out.onnx.data" "$log/first.onnx.data"
  done
done
for device in cpu cuda auto; do
  # shellcheck disable=SC2086  # a list of numbers
  median=$(printf '%s\n' ${times[$device]} | sort -n | sed -n 3p)
  printf -- '--cast-device %-6s %6.2f s %8.1f GB/s\n' "$device" "$(awk "BEGIN { print $median / 1e9 }")" "$(awk "BEGIN { print $bytes / $median }")"
  sed 's/^ */    /' "$log/said.$device"
done
echo "the bytes of all three are the same; $((SECONDS - begin)) s in all"
