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
#include "ampc/weights/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::weights {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// Highway's one-lane fallback lacks operations; element.h does its work.
KernelTable make_table() { return scalar_kernels(); }

#else

namespace hn = hwy::HWY_NAMESPACE;

/// Tags of a format's lanes as unsigned, signed and float.
template <class From>
using Unsigned = hn::ScalableTag<typename From::Bits>;
template <class From>
using Signed = hn::RebindToSigned<Unsigned<From> >;
template <class From>
using Real = hn::RebindToFloat<Unsigned<From> >;
/// As many lanes of To's bits.
template <class From, class To>
using Narrowed = hn::Rebind<typename To::Bits, Unsigned<From> >;
/// As many 16-bit lanes.
template <class From>
using Low = hn::Rebind<std::uint16_t, Unsigned<From> >;

template <class D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const std::byte* source) {
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(source)));
}

template <class D>
HWY_INLINE void store_bytes(D /*d*/, hn::Vec<D> lanes, std::byte* target) {
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, lanes), bytes, reinterpret_cast<std::uint8_t*>(target));
}

/// A constant of From's bits as signed lanes; magnitudes have no sign bit, so that signed compares order them.
template <class From>
HWY_INLINE hn::Vec<Signed<From> > limit(typename From::Bits bits) {
  return hn::Set(Signed<From>(), static_cast<hn::TFromD<Signed<From> > >(bits));
}

/// One vector narrowed by integer arithmetic, for any pair of formats.
template <class From, class To, bool kClamp>
struct Narrow {
  using FromFormat = From;
  using ToFormat = To;
  using Bits = typename From::Bits;
  using Bounds = Limits<From, To>;
  static constexpr int kDropped = From::kMantissaBits - To::kMantissaBits;

  HWY_INLINE static hn::Vec<Narrowed<From, To> > apply(hn::Vec<Unsigned<From> > bits) {
    const Unsigned<From> d;
    const Signed<From> di;
    const auto magnitude = hn::And(bits, hn::Set(d, From::kMagnitude));
    const auto ordered = hn::BitCast(di, magnitude);

    // Half of the dropped part less one, plus the kept part's last bit: ties go to even. A carry moves the exponent on.
    constexpr Bits kHalfLessOne = (Bits{1} << (kDropped - 1)) - 1;
    constexpr Bits kRebias = static_cast<Bits>(From::kBias - To::kBias) << From::kMantissaBits;
    const auto last = hn::And(hn::ShiftRight<kDropped>(magnitude), hn::Set(d, Bits{1}));
    const auto rounded = hn::Add(hn::Add(magnitude, last), hn::Set(d, static_cast<Bits>(kHalfLessOne - kRebias)));
    auto result = hn::ShiftRight<kDropped>(rounded);

    if constexpr (From::kBias != To::kBias) {
      // Adding a power of two whose last place is To's least subnormal rounds to a multiple of that.
      constexpr Bits kMagic = static_cast<Bits>(1 - To::kBias - To::kMantissaBits + From::kMantissaBits + From::kBias)
                              << From::kMantissaBits;
      const Real<From> df;
      const auto magic = hn::Set(d, kMagic);
      const auto sum = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, magic));
      const auto tiny = hn::RebindMask(d, hn::Lt(ordered, limit<From>(Bounds::kLeastNormal)));
      result = hn::IfThenElse(tiny, hn::Sub(hn::BitCast(d, sum), magic), result);
    }
    const auto over = hn::RebindMask(d, hn::Gt(ordered, limit<From>(Bounds::kOverflow - 1)));
    const auto infinity = hn::Set(d, Bits{To::kInfinity});
    if constexpr (kClamp) {
      const auto infinite = hn::RebindMask(d, hn::Gt(ordered, limit<From>(From::kInfinity - 1)));
      result = hn::IfThenElse(over, hn::Set(d, Bits{To::kLargest}), result);
      result = hn::IfThenElse(infinite, infinity, result);
    } else if constexpr (From::kBias != To::kBias) {
      result = hn::IfThenElse(over, infinity, result);
    }
    const auto nan = hn::RebindMask(d, hn::Gt(ordered, limit<From>(From::kInfinity)));
    result = hn::IfThenElse(nan, hn::Set(d, Bits{To::kQuietNan}), result);
    const auto sign = hn::And(hn::ShiftRight<From::kWidth - To::kWidth>(bits), hn::Set(d, Bits{To::kSign}));
    return hn::TruncateTo(Narrowed<From, To>(), hn::Or(result, sign));
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
#define AMPC_HARDWARE_FP16 1
#else
#define AMPC_HARDWARE_FP16 0
#endif

#if AMPC_HARDWARE_FP16
/// F16C rounds as wanted; NaNs and clamped values are put right before it.
template <bool kClamp>
struct Narrow<Fp32, Fp16, kClamp> {
  using FromFormat = Fp32;
  using ToFormat = Fp16;
  using Bounds = Limits<Fp32, Fp16>;

  HWY_INLINE static hn::Vec<Low<Fp32> > apply(hn::Vec<Unsigned<Fp32> > bits) {
    const Unsigned<Fp32> d;
    const Signed<Fp32> di;
    const auto magnitude_bits = hn::Set(d, Fp32::kMagnitude);
    const auto ordered = hn::BitCast(di, hn::And(bits, magnitude_bits));
    const auto sign = hn::AndNot(magnitude_bits, bits);
    if constexpr (kClamp) {
      const auto over =
          hn::And(hn::Gt(ordered, limit<Fp32>(Bounds::kLargest)), hn::Lt(ordered, limit<Fp32>(Fp32::kInfinity)));
      bits = hn::IfThenElse(hn::RebindMask(d, over), hn::Or(sign, hn::Set(d, Bounds::kLargest)), bits);
    }
    const auto nan = hn::RebindMask(d, hn::Gt(ordered, limit<Fp32>(Fp32::kInfinity)));
    bits = hn::IfThenElse(nan, hn::Or(sign, hn::Set(d, Fp32::kQuietNan)), bits);
    const hn::Rebind<hwy::float16_t, Unsigned<Fp32> > half;
    return hn::BitCast(Low<Fp32>(), hn::DemoteTo(half, hn::BitCast(Real<Fp32>(), bits)));
  }
};
#endif

/// One vector widened to fp32.
template <class From>
struct Widen {
  HWY_INLINE static hn::Vec<Unsigned<Fp32> > apply(hn::Vec<Low<Fp32> > low) {
    const Unsigned<Fp32> d;
    const Signed<Fp32> di;
    const auto bits = hn::PromoteTo(d, low);
    const auto magnitude = hn::And(bits, hn::Set(d, std::uint32_t{From::kMagnitude}));
    const auto ordered = hn::BitCast(di, magnitude);
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, std::uint32_t{From::kSign})));
    auto result = hn::ShiftLeft<Fp32::kMantissaBits - From::kMantissaBits>(magnitude);
    if constexpr (From::kBias != Fp32::kBias) {
#if AMPC_HARDWARE_FP16
      const hn::Rebind<hwy::float16_t, Unsigned<Fp32> > half;
      result = hn::AndNot(sign, hn::BitCast(d, hn::PromoteTo(Real<Fp32>(), hn::BitCast(half, low))));
#else
      constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(Fp32::kBias - From::kBias) << Fp32::kMantissaBits;
      result = hn::Add(result, hn::Set(d, kRebias));
      const auto infinite = hn::Gt(ordered, limit<Fp32>(From::kLargest));
      result = hn::IfThenElse(hn::RebindMask(d, infinite), hn::Set(d, Fp32::kInfinity), result);
      // A subnormal is its integer value times the least subnormal, exact in fp32.
      const Real<Fp32> df;
      constexpr int kLeastSubnormal = 1 - From::kBias - From::kMantissaBits;
      const auto scale = hn::Set(d, Limits<Fp32, From>::value(kLeastSubnormal, 0));
      const auto exact = hn::Mul(hn::ConvertTo(df, ordered), hn::BitCast(df, scale));
      const auto tiny = hn::RebindMask(d, hn::Lt(ordered, limit<Fp32>(1U << From::kMantissaBits)));
      result = hn::IfThenElse(tiny, hn::BitCast(d, exact), result);
#endif
    }
    const auto nan = hn::RebindMask(d, hn::Gt(ordered, limit<Fp32>(From::kInfinity)));
    result = hn::IfThenElse(nan, hn::Set(d, Fp32::kQuietNan), result);
    return hn::Or(result, sign);
  }
};

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
HWY_INLINE hn::Vec<Signed<From> > magnitudes_at(const std::byte* source) {
  const Unsigned<From> d;
  return hn::BitCast(Signed<From>(), hn::And(load_bytes(d, source), hn::Set(d, From::kMagnitude)));
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
    const auto magnitudes = magnitudes_at<From>(source + i * bytes);
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

/// The same, block by block. Weights are rarely lost and hardly ever beyond the range: the largest and the least of
/// a block show that, and only subnormals are left to count.
template <class From, class To>
HWY_NOINLINE void measure_loop(const std::byte* source, std::size_t vectors, Stats& stats) {
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
      const auto magnitudes = magnitudes_at<From>(block + i * bytes);
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

template <class From, class To>
Stats measure_lanes(const std::byte* source, std::size_t count) {
  const std::size_t lanes = hn::Lanes(Unsigned<From>());
  constexpr std::size_t kIn = sizeof(typename From::Bits);
  constexpr std::size_t kMostVectors = std::size_t{1} << 30;  // well below what a 32-bit lane counts
  Stats stats;
  stats.count = count;
  std::size_t left = count;
  while (left >= lanes) {
    const std::size_t vectors = left / lanes < kMostVectors ? left / lanes : kMostVectors;
    measure_loop<From, To>(source, vectors, stats);
    source += vectors * lanes * kIn;
    left -= vectors * lanes;
  }
  if (left != 0) {
    std::byte last[HWY_MAX_BYTES] = {};  // zeros count nowhere
    std::memcpy(last, source, left * kIn);
    measure_loop<From, To>(last, 1, stats);
  }
  return stats;
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
  return table;
}

#undef AMPC_HARDWARE_FP16
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
