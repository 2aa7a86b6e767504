// Casting of weights: bytes to bytes. Nothing here knows a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ampc/model/elem_type.h"

namespace ampc::weights {

/// What casting to a low type would do to a range of values. Counts are of elements.
struct Stats {
  double absmax = 0;  // largest finite magnitude
  std::uint64_t count = 0;
  std::uint64_t nonfinite = 0;     // infinities and NaNs of the source
  std::uint64_t overflow = 0;      // finite, and an infinity once cast
  std::uint64_t underflow = 0;     // not zero, and zero once cast
  std::uint64_t subnormal = 0;     // not zero, and a subnormal of the low type once cast
  void merge(const Stats& other);  // associative and commutative: the result does not depend on chunking
};

struct Conversion {
  ElemType from = ElemType::float32;
  ElemType to = ElemType::float16;
  bool clamp = false;  // finite values beyond the range become ±largest instead of ±infinity
};

/// Casts ranges of elements; round to nearest, ties to even. A NaN becomes the one quiet NaN of the type with its sign.
/// Implementations are bit for bit equal. Source and target need no alignment; they do not overlap. Safe from several
/// threads at once. From fp32 or fp64 to fp16 or bf16 and from fp64 to fp32 (in one rounding), and from fp16 or bf16
/// to fp32; any other pair of types throws std::invalid_argument.
class Caster {
 public:
  virtual ~Caster() = default;
  virtual std::string_view name() const = 0;
  /// `count` elements from `source` to `target`.
  virtual void cast(const Conversion& conversion, const std::byte* source, std::byte* target, std::size_t count) = 0;
  /// Statistics alone, nothing written. `conversion.from` may be float32 or float64.
  virtual Stats measure(const Conversion& conversion, const std::byte* source, std::size_t count) = 0;
  /// Both, for the price of reading the source once. Only from what `measure` takes.
  virtual Stats cast_measured(const Conversion& conversion, const std::byte* source, std::byte* target,
                              std::size_t count) = 0;
};

/// The CPU's caster: Highway kernels for the best target that the machine has, or the one that AMPC_FORCE_KERNEL names
/// ("scalar", or a Highway target as `cpu_kernels()` lists it). Throws std::invalid_argument with the names it knows
/// where that names none.
Caster& cpu_caster();
/// Names of the kernels that this machine can run, best first; "scalar" is always last.
std::vector<std::string_view> cpu_kernels();
/// A kernel by name; nullptr where this machine has none of that name.
Caster* cpu_kernel(std::string_view name);

/// One element, by the scalar reference (the header that every implementation is held against).
std::uint16_t to_fp16(float value);
std::uint16_t to_bf16(float value);
float from_fp16(std::uint16_t bits);
float from_bf16(std::uint16_t bits);

/// Both in parallel over chunks of a few MiB with oneTBB.
void cast_parallel(Caster& caster, const Conversion& conversion, const std::byte* source, std::byte* target,
                   std::size_t count);
Stats measure_parallel(Caster& caster, const Conversion& conversion, const std::byte* source, std::size_t count);

/// How the statistics of a weight's bytes are come by.
using Measure = std::function<Stats(const Conversion& conversion, std::span<const std::byte> source)>;
/// By reading them, in parallel on the CPU.
Stats measure_here(const Conversion& conversion, std::span<const std::byte> source);

}  // namespace ampc::weights
