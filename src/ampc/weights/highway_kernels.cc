// Kernels for every instruction set that Highway knows, compiled once each by including this file again. Bit for bit
// what element.h says. Loads and stores go through bytes: no pointer needs alignment.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ampc/weights/highway_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "ampc/weights/element.h"
#include "ampc/weights/highway_ops-inl.h"
#include "ampc/weights/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::weights {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// Highway's one-lane fallback lacks operations; element.h does its work.
KernelTable make_table() { return scalar_kernels(); }

#else

template <class Op>
HWY_NOINLINE void narrow_loop(const std::byte* source, std::byte* target, std::size_t count) {
  using From = typename Op::FromFormat;
  using To = typename Op::ToFormat;
  const Unsigned<From> d;
  const Narrowed<From, To> low;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kIn = sizeof(typename From::Bits);
  constexpr std::size_t kOut = sizeof(typename To::Bits);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    look_ahead(source + i * kIn);
    look_ahead(source + (i + lanes) * kIn);
    const auto first = load_bytes(d, source + i * kIn);
    const auto second = load_bytes(d, source + (i + lanes) * kIn);
    store_bytes(low, Op::apply(first), target + i * kOut);
    store_bytes(low, Op::apply(second), target + (i + lanes) * kOut);
  }
  for (; i < count; i += lanes) {
    const std::size_t left = count - i < lanes ? count - i : lanes;
    std::byte in[HWY_MAX_BYTES] = {};
    std::byte out[HWY_MAX_BYTES];
    std::memcpy(in, source + i * kIn, left * kIn);
    store_bytes(low, Op::apply(load_bytes(d, in)), out);
    std::memcpy(target + i * kOut, out, left * kOut);
  }
}

template <class From, class To>
void narrow_lanes(const std::byte* source, std::byte* target, std::size_t count, bool clamp) {
  if (clamp) {
    narrow_loop<Narrow<From, To, true> >(source, target, count);
  } else {
    narrow_loop<Narrow<From, To, false> >(source, target, count);
  }
}

template <class From>
void widen_lanes(const std::byte* source, std::byte* target, std::size_t count) {
  const Unsigned<Fp32> d;
  const Low<Fp32> low;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kIn = sizeof(std::uint16_t);
  constexpr std::size_t kOut = sizeof(std::uint32_t);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    store_bytes(d, Widen<From>::apply(load_bytes(low, source + i * kIn)), target + i * kOut);
  }
  if (i < count) {
    std::byte in[HWY_MAX_BYTES] = {};
    std::byte out[HWY_MAX_BYTES];
    std::memcpy(in, source + i * kIn, (count - i) * kIn);
    store_bytes(d, Widen<From>::apply(load_bytes(low, in)), out);
    std::memcpy(target + i * kOut, out, (count - i) * kOut);
  }
}

template <class From>
HWY_INLINE std::uint64_t sum_lanes(hn::Vec<Unsigned<From> > counter) {
  const Unsigned<From> d;
  HWY_ALIGN typename From::Bits lanes[HWY_MAX_BYTES / sizeof(typename From::Bits)];
  hn::Store(counter, d, lanes);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) sum += lanes[i];
  return sum;
}

HWY_INLINE double magnitude_value(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<double>(value);
}

HWY_INLINE double magnitude_value(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <class From>
HWY_INLINE double largest_lane(hn::Vec<Unsigned<From> > magnitudes) {
  const Unsigned<From> d;
  HWY_ALIGN typename From::Bits lanes[HWY_MAX_BYTES / sizeof(typename From::Bits)];
  hn::Store(magnitudes, d, lanes);
  double largest = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    const double value = magnitude_value(lanes[i]);
    if (value > largest) largest = value;
  }
  return largest;
}

template <class From>
HWY_INLINE hn::Vec<Signed<From> > magnitudes_of(hn::Vec<Unsigned<From> > bits) {
  return hn::BitCast(Signed<From>(), hn::And(bits, hn::Set(Unsigned<From>(), From::kMagnitude)));
}

/// One more in each lane whose magnitude lies above `bound`: a true lane is all ones, which is -1.
template <class From>
HWY_INLINE void count_above(hn::Vec<Signed<From> > magnitudes, typename From::Bits bound,
                            hn::Vec<Unsigned<From> >& counter) {
  const Unsigned<From> d;
  const auto above = hn::RebindMask(d, hn::Gt(magnitudes, limit<From>(bound)));
  counter = hn::Sub(counter, hn::VecFromMask(d, above));
}

/// Statistics of `vectors` whole vectors, exact whatever they hold; few enough that no lane's counter wraps.
template <class From, class To>
HWY_NOINLINE void measure_any(const std::byte* source, std::size_t vectors, Stats& stats) {
  using Bounds = Limits<From, To>;
  const Unsigned<From> d;
  const Signed<From> di;
  const std::size_t bytes = hn::Lanes(d) * sizeof(typename From::Bits);
  auto largest = hn::Zero(di);
  auto nonfinite = hn::Zero(d);
  auto over = hn::Zero(d);
  auto normal = hn::Zero(d);
  auto kept = hn::Zero(d);
  auto nonzero = hn::Zero(d);
  for (std::size_t i = 0; i < vectors; ++i) {
    const auto magnitudes = magnitudes_of<From>(load_bytes(d, source + i * bytes));
    const auto finite = hn::Lt(magnitudes, limit<From>(From::kInfinity));
    largest = hn::Max(largest, hn::IfThenElseZero(finite, magnitudes));
    count_above<From>(magnitudes, From::kInfinity - 1, nonfinite);
    count_above<From>(magnitudes, Bounds::kOverflow - 1, over);
    count_above<From>(magnitudes, Bounds::kNormal - 1, normal);
    count_above<From>(magnitudes, Bounds::kUnderflow, kept);
    count_above<From>(magnitudes, 0, nonzero);
  }
  const double absmax = largest_lane<From>(hn::BitCast(d, largest));
  if (absmax > stats.absmax) stats.absmax = absmax;
  // Each counter holds what the one before it holds, and more.
  const std::uint64_t infinite_or_nan = sum_lanes<From>(nonfinite);
  const std::uint64_t normal_or_more = sum_lanes<From>(normal);
  const std::uint64_t not_lost = sum_lanes<From>(kept);
  stats.nonfinite += infinite_or_nan;
  stats.overflow += sum_lanes<From>(over) - infinite_or_nan;
  stats.subnormal += not_lost - normal_or_more;
  stats.underflow += sum_lanes<From>(nonzero) - not_lost;
}

/// What measuring does to vectors on the way, beside counting: nothing, or a cast.
struct KeepNothing {
  template <class V>
  HWY_INLINE void take(V /*bits*/, std::size_t /*index*/) const {}
};
template <class Op>
struct KeepCast {
  std::byte* target;
  template <class V>
  HWY_INLINE void take(V bits, std::size_t index) const {
    using To = typename Op::ToFormat;
    const Narrowed<typename Op::FromFormat, To> narrow;
    store_bytes(narrow, Op::apply(bits), target + index * hn::Lanes(narrow) * sizeof(typename To::Bits));
  }
};

/// The same, block by block. Weights are rarely lost and hardly ever beyond the range: the largest and the least of
/// a block show that, and only subnormals are left to count.
template <class From, class To, class Keep>
HWY_NOINLINE void measure_loop(const std::byte* source, std::size_t vectors, Keep keep, Stats& stats) {
  using Bounds = Limits<From, To>;
  constexpr std::size_t kBlock = 64;
  const Unsigned<From> d;
  const Signed<From> di;
  const std::size_t bytes = hn::Lanes(d) * sizeof(typename From::Bits);
  auto all_largest = hn::Zero(di);
  auto all_normal = hn::Zero(d);
  std::size_t counted = 0;
  for (std::size_t begin = 0; begin < vectors; begin += kBlock) {
    const std::size_t size = vectors - begin < kBlock ? vectors - begin : kBlock;
    const std::byte* block = source + begin * bytes;
    auto largest = hn::Zero(di);
    auto least = limit<From>(From::kInfinity);
    auto normal = hn::Zero(d);
    for (std::size_t i = 0; i < size; ++i) {
      look_ahead(block + i * bytes);
      const auto bits = load_bytes(d, block + i * bytes);
      keep.take(bits, begin + i);
      const auto magnitudes = magnitudes_of<From>(bits);
      largest = hn::Max(largest, magnitudes);
      least = hn::Min(least, magnitudes);
      count_above<From>(magnitudes, Bounds::kNormal - 1, normal);
    }
    if (hn::AllTrue(di, hn::Lt(largest, limit<From>(Bounds::kOverflow))) &&
        hn::AllTrue(di, hn::Gt(least, limit<From>(Bounds::kUnderflow)))) {
      all_largest = hn::Max(all_largest, largest);
      all_normal = hn::Add(all_normal, normal);
      counted += size;
    } else {
      measure_any<From, To>(block, size, stats);
    }
  }
  const double absmax = largest_lane<From>(hn::BitCast(d, all_largest));
  if (absmax > stats.absmax) stats.absmax = absmax;
  stats.subnormal += counted * hn::Lanes(d) - sum_lanes<From>(all_normal);
}

/// `part(source, vectors, index, stats)` for runs of whole vectors, the first of which is vector `index`; and once more
/// for what is left, made whole with zeros, which count nowhere.
template <class From, class Part>
HWY_INLINE Stats measure_parts(const std::byte* source, std::size_t count, Part&& part) {
  const std::size_t lanes = hn::Lanes(Unsigned<From>());
  constexpr std::size_t kIn = sizeof(typename From::Bits);
  constexpr std::size_t kMostVectors = std::size_t{1} << 30;  // well below what a 32-bit lane counts
  Stats stats;
  stats.count = count;
  const std::size_t whole = count / lanes;
  for (std::size_t at = 0; at < whole; at += kMostVectors) {
    part(source + at * lanes * kIn, whole - at < kMostVectors ? whole - at : kMostVectors, at, stats);
  }
  if (const std::size_t left = count - whole * lanes; left != 0) {
    std::byte last[HWY_MAX_BYTES] = {};
    std::memcpy(last, source + whole * lanes * kIn, left * kIn);
    part(last, std::size_t{1}, whole, stats);
  }
  return stats;
}

template <class From, class To>
Stats measure_lanes(const std::byte* source, std::size_t count) {
  return measure_parts<From>(source, count,
                             [](const std::byte* from, std::size_t vectors, std::size_t /*index*/, Stats& stats) {
                               measure_loop<From, To>(from, vectors, KeepNothing(), stats);
                             });
}

template <class Op>
Stats cast_measured_loop(const std::byte* source, std::byte* target, std::size_t count) {
  using From = typename Op::FromFormat;
  using To = typename Op::ToFormat;
  constexpr std::size_t kOut = sizeof(typename To::Bits);
  const std::size_t lanes = hn::Lanes(Unsigned<From>());
  const std::size_t whole = count / lanes;
  return measure_parts<From>(source, count,
                             [&](const std::byte* from, std::size_t vectors, std::size_t index, Stats& stats) {
                               std::byte* to = target + index * lanes * kOut;
                               if (index < whole) {
                                 measure_loop<From, To>(from, vectors, KeepCast<Op>{to}, stats);
                                 return;
                               }
                               std::byte out[HWY_MAX_BYTES];
                               measure_loop<From, To>(from, 1, KeepCast<Op>{out}, stats);
                               std::memcpy(to, out, (count - index * lanes) * kOut);
                             });
}

template <class From, class To>
Stats cast_measured_lanes(const std::byte* source, std::byte* target, std::size_t count, bool clamp) {
  return clamp ? cast_measured_loop<Narrow<From, To, true> >(source, target, count)
               : cast_measured_loop<Narrow<From, To, false> >(source, target, count);
}

KernelTable make_table() {
  KernelTable table;
  table.fp32_to_fp16 = narrow_lanes<Fp32, Fp16>;
  table.fp32_to_bf16 = narrow_lanes<Fp32, Bf16>;
  table.fp64_to_fp16 = narrow_lanes<Fp64, Fp16>;
  table.fp64_to_bf16 = narrow_lanes<Fp64, Bf16>;
  table.fp64_to_fp32 = narrow_lanes<Fp64, Fp32>;
  table.fp16_to_fp32 = widen_lanes<Fp16>;
  table.bf16_to_fp32 = widen_lanes<Bf16>;
  table.measure_fp32_fp16 = measure_lanes<Fp32, Fp16>;
  table.measure_fp32_bf16 = measure_lanes<Fp32, Bf16>;
  table.measure_fp64_fp16 = measure_lanes<Fp64, Fp16>;
  table.measure_fp64_bf16 = measure_lanes<Fp64, Bf16>;
  table.measure_fp64_fp32 = measure_lanes<Fp64, Fp32>;
  table.cast_measured_fp32_fp16 = cast_measured_lanes<Fp32, Fp16>;
  table.cast_measured_fp32_bf16 = cast_measured_lanes<Fp32, Bf16>;
  table.cast_measured_fp64_fp16 = cast_measured_lanes<Fp64, Fp16>;
  table.cast_measured_fp64_bf16 = cast_measured_lanes<Fp64, Bf16>;
  table.cast_measured_fp64_fp32 = cast_measured_lanes<Fp64, Fp32>;
  return table;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace ampc::weights
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::weights {
namespace {

std::string lower_case(const char* name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

#if !HWY_ARCH_X86
HWY_EXPORT(make_table);
#endif

}  // namespace

std::vector<NamedKernels> highway_kernels() {
  std::vector<NamedKernels> list;
#if HWY_ARCH_X86
  // Highway's own dispatch would do, but for the library that it is in: merely loaded, release 1.0.3 measures the clock
  // for 20 ms, which is longer than a small model takes.
  struct Target {
    std::int64_t target;
    KernelTable (*make)();  // nullptr where the compiler cannot or need not make that code
  };
  const Target targets[] = {{HWY_AVX3_DL, HWY_CHOOSE_AVX3_DL(make_table)},
                            {HWY_AVX3, HWY_CHOOSE_AVX3(make_table)},
                            {HWY_AVX2, HWY_CHOOSE_AVX2(make_table)},
                            {HWY_SSE4, HWY_CHOOSE_SSE4(make_table)},
                            {HWY_SSSE3, HWY_CHOOSE_SSSE3(make_table)}};
  for (const auto& [target, make] : targets) {
    if (make != nullptr && machine_runs(target)) list.push_back({lower_case(hwy::TargetName(target)), make()});
  }
#else
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (target == HWY_SCALAR) continue;  // the registry's own "scalar"
    // The public way to a target's own table: pretend for a moment that the machine has no other.
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    list.push_back({lower_case(hwy::TargetName(target)), HWY_DYNAMIC_DISPATCH(make_table)()});
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#endif
  return list;
}

}  // namespace ampc::weights
#endif  // HWY_ONCE
