// What a kernel does to one vector, for every instruction set that Highway knows: bit for bit what element.h says.
// Internal to highway_kernels.cc.
#if defined(AMPC_WEIGHTS_HIGHWAY_OPS_INL_H) == defined(HWY_TARGET_TOGGLE)  // once for each target, as Highway asks
#ifdef AMPC_WEIGHTS_HIGHWAY_OPS_INL_H
#undef AMPC_WEIGHTS_HIGHWAY_OPS_INL_H
#else
#define AMPC_WEIGHTS_HIGHWAY_OPS_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "ampc/weights/element.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::weights {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR  // which lacks operations

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

/// Asks for what comes a page after `source`: the hardware's own looking ahead stops at the end of each page.
HWY_INLINE void look_ahead(const std::byte* source) {
  constexpr std::size_t kPage = 4096;
  hwy::Prefetch(source + kPage);
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

#undef AMPC_HARDWARE_FP16
#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace ampc::weights
HWY_AFTER_NAMESPACE();

#endif  // once for each target
