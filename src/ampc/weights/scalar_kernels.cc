#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ampc/weights/element.h"
#include "ampc/weights/kernel_table.h"

namespace ampc::weights {
namespace {

template <class Bits>
Bits load(const std::byte* source, std::size_t index) {
  Bits bits;
  std::memcpy(&bits, source + index * sizeof(Bits), sizeof(Bits));
  return bits;
}

template <class Bits>
void store(std::byte* target, std::size_t index, Bits bits) {
  std::memcpy(target + index * sizeof(Bits), &bits, sizeof(Bits));
}

template <class From, class To>
void narrow_all(const std::byte* source, std::byte* target, std::size_t count, bool clamp) {
  for (std::size_t i = 0; i < count; ++i) {
    store(target, i, narrow<From, To>(load<typename From::Bits>(source, i), clamp));
  }
}

template <class From, class To>
void widen_all(const std::byte* source, std::byte* target, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) store(target, i, widen<From, To>(load<typename From::Bits>(source, i)));
}

/// Judges by the cast itself, not by limits, so that the limits of the fast kernels have something to be held against.
template <class From, class To>
Stats measure_all(const std::byte* source, std::size_t count) {
  using Float = std::conditional_t<sizeof(typename From::Bits) == 4, float, double>;
  Stats stats;
  stats.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = load<typename From::Bits>(source, i);
    const auto magnitude = static_cast<typename From::Bits>(bits & From::kMagnitude);
    if (magnitude >= From::kInfinity) {
      ++stats.nonfinite;
      continue;
    }
    const double value = static_cast<double>(std::bit_cast<Float>(magnitude));
    if (value > stats.absmax) stats.absmax = value;
    const auto low = static_cast<typename To::Bits>(narrow<From, To>(bits, false) & To::kMagnitude);
    if (low == To::kInfinity) ++stats.overflow;
    if (low == 0 && magnitude != 0) ++stats.underflow;
    if (low != 0 && low < (1U << To::kMantissaBits)) ++stats.subnormal;
  }
  return stats;
}

template <class From, class To>
Stats cast_measured_all(const std::byte* source, std::byte* target, std::size_t count, bool clamp) {
  narrow_all<From, To>(source, target, count, clamp);
  return measure_all<From, To>(source, count);
}

}  // namespace

KernelTable scalar_kernels() {
  KernelTable table;
  table.fp32_to_fp16 = narrow_all<Fp32, Fp16>;
  table.fp32_to_bf16 = narrow_all<Fp32, Bf16>;
  table.fp64_to_fp16 = narrow_all<Fp64, Fp16>;
  table.fp64_to_bf16 = narrow_all<Fp64, Bf16>;
  table.fp64_to_fp32 = narrow_all<Fp64, Fp32>;
  table.fp16_to_fp32 = widen_all<Fp16, Fp32>;
  table.bf16_to_fp32 = widen_all<Bf16, Fp32>;
  table.measure_fp32_fp16 = measure_all<Fp32, Fp16>;
  table.measure_fp32_bf16 = measure_all<Fp32, Bf16>;
  table.measure_fp64_fp16 = measure_all<Fp64, Fp16>;
  table.measure_fp64_bf16 = measure_all<Fp64, Bf16>;
  table.measure_fp64_fp32 = measure_all<Fp64, Fp32>;
  table.cast_measured_fp32_fp16 = cast_measured_all<Fp32, Fp16>;
  table.cast_measured_fp32_bf16 = cast_measured_all<Fp32, Bf16>;
  table.cast_measured_fp64_fp16 = cast_measured_all<Fp64, Fp16>;
  table.cast_measured_fp64_bf16 = cast_measured_all<Fp64, Bf16>;
  table.cast_measured_fp64_fp32 = cast_measured_all<Fp64, Fp32>;
  return table;
}

}  // namespace ampc::weights
