// Casting one element: the scalar reference that every kernel is held against, bit for bit. Integer arithmetic alone,
// so that the compiler, its options and the floating-point environment have no say; usable on the host and in CUDA.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#define AMPC_HOST_DEVICE __host__ __device__
#else
#define AMPC_HOST_DEVICE
#endif

namespace ampc::weights {

/// An IEEE 754 interchange format: sign, exponent, mantissa from the top bit down.
template <class BitsT, int kMantissaBitsT>
struct FloatFormat {
  using Bits = BitsT;
  static constexpr int kWidth = static_cast<int>(sizeof(Bits)) * 8;
  static constexpr int kMantissaBits = kMantissaBitsT;
  static constexpr int kExponentBits = kWidth - 1 - kMantissaBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (kWidth - 1));
  static constexpr Bits kMagnitude = static_cast<Bits>(kSign - 1);
  static constexpr Bits kInfinity = static_cast<Bits>(((Bits{1} << kExponentBits) - 1) << kMantissaBits);
  static constexpr Bits kLargest = static_cast<Bits>(kInfinity - 1);
  /// The one NaN that casts produce, but for the sign.
  static constexpr Bits kQuietNan = static_cast<Bits>(kInfinity | (Bits{1} << (kMantissaBits - 1)));
};

using Fp16 = FloatFormat<std::uint16_t, 10>;
using Bf16 = FloatFormat<std::uint16_t, 7>;
using Fp32 = FloatFormat<std::uint32_t, 23>;
using Fp64 = FloatFormat<std::uint64_t, 52>;

/// To a narrower format in one rounding: to nearest, ties to even. With `clamp`, finite values that would round to an
/// infinity become the largest finite value; infinities stay infinities.
template <class From, class To>
AMPC_HOST_DEVICE constexpr typename To::Bits narrow(typename From::Bits bits, bool clamp) {
  using Bits = typename From::Bits;
  const auto sign = static_cast<typename To::Bits>((bits >> (From::kWidth - To::kWidth)) & To::kSign);
  const auto magnitude = static_cast<Bits>(bits & From::kMagnitude);
  if (magnitude >= From::kInfinity) {
    return static_cast<typename To::Bits>(sign | (magnitude == From::kInfinity ? To::kInfinity : To::kQuietNan));
  }
  auto significand = static_cast<Bits>(magnitude & ((Bits{1} << From::kMantissaBits) - 1));
  int exponent = static_cast<int>(magnitude >> From::kMantissaBits);
  if (exponent == 0) {
    exponent = 1;  // a subnormal: the least exponent, no implicit bit
  } else {
    significand = static_cast<Bits>(significand | (Bits{1} << From::kMantissaBits));
  }
  exponent += To::kBias - From::kBias;

  // Below the target's least normal, one more bit goes for every missing exponent step.
  int dropped = From::kMantissaBits - To::kMantissaBits;
  if (exponent < 1) {
    dropped += 1 - exponent;
    exponent = 1;
  }
  if (dropped > From::kMantissaBits + 1) return sign;  // less than half the least subnormal
  const auto half = static_cast<Bits>(Bits{1} << (dropped - 1));
  const auto rest = static_cast<Bits>(significand & ((half << 1) - 1));
  auto kept = static_cast<std::uint32_t>(significand >> dropped);
  if (rest > half || (rest == half && (kept & 1U) != 0)) ++kept;
  // The implicit bit, or a carry, adds to the exponent.
  using Result = std::conditional_t<To::kWidth == 32, std::uint64_t, std::uint32_t>;  // beyond To's range too
  const Result result = (static_cast<Result>(exponent - 1) << To::kMantissaBits) + kept;
  if (result >= To::kInfinity) {
    return static_cast<typename To::Bits>(sign | (clamp ? To::kLargest : To::kInfinity));
  }
  return static_cast<typename To::Bits>(sign | static_cast<typename To::Bits>(result));
}

/// To a wider format that holds every value of the narrower one.
template <class From, class To>
AMPC_HOST_DEVICE constexpr typename To::Bits widen(typename From::Bits bits) {
  using Bits = typename To::Bits;
  const auto sign = static_cast<Bits>(static_cast<Bits>(bits & From::kSign) << (To::kWidth - From::kWidth));
  const auto magnitude = static_cast<Bits>(bits & From::kMagnitude);
  if (magnitude >= From::kInfinity) {
    return static_cast<Bits>(sign | (magnitude == From::kInfinity ? To::kInfinity : To::kQuietNan));
  }
  constexpr int kShift = To::kMantissaBits - From::kMantissaBits;
  if constexpr (From::kExponentBits == To::kExponentBits) {
    return static_cast<Bits>(sign | (static_cast<Bits>(magnitude) << kShift));
  } else {
    static_assert(To::kBias > From::kBias + From::kMantissaBits, "a subnormal becomes normal");
    if (magnitude == 0) return sign;
    auto significand = static_cast<Bits>(magnitude & ((1U << From::kMantissaBits) - 1U));
    int exponent = static_cast<int>(magnitude >> From::kMantissaBits);
    if (exponent == 0) {
      exponent = 1;
      while ((significand >> From::kMantissaBits) == 0) {
        significand = static_cast<Bits>(significand << 1);
        --exponent;
      }
      significand = static_cast<Bits>(significand & ((1U << From::kMantissaBits) - 1U));
    }
    const auto biased = static_cast<Bits>(exponent + To::kBias - From::kBias);
    return static_cast<Bits>(sign | (biased << To::kMantissaBits) | (significand << kShift));
  }
}

/// Magnitudes, as bits of `From`, at which casting to `To` changes in kind. Each is a value of both formats.
template <class From, class To>
struct Limits {
  using Bits = typename From::Bits;

  /// 2^exponent · (2 - 2^-fraction) as bits of From; `fraction` 0 gives the power of two itself.
  static constexpr Bits value(int exponent, int fraction) {
    const int biased = exponent + From::kBias;
    const Bits mantissa =
        fraction == 0
            ? Bits{0}
            : static_cast<Bits>((Bits{1} << From::kMantissaBits) - (Bits{1} << (From::kMantissaBits - fraction)));
    if (biased >= 1) return static_cast<Bits>((static_cast<Bits>(biased) << From::kMantissaBits) | mantissa);
    // A subnormal of From (fp32 to bf16): the significand without its implicit bit's place.
    return static_cast<Bits>(((Bits{1} << From::kMantissaBits) | mantissa) >> (1 - biased));
  }

  static constexpr int kLeast = 1 - To::kBias;  // exponent of the least normal
  /// From here on, a finite value rounds to an infinity: halfway between the largest value and the next power of two.
  static constexpr Bits kOverflow = value(To::kBias, To::kMantissaBits + 1);
  /// Up to here, inclusive, a value rounds to zero: half the least subnormal, and the tie goes to even.
  static constexpr Bits kUnderflow = value(kLeast - To::kMantissaBits - 1, 0);
  /// Below this a value that does not round to zero rounds to a subnormal: halfway below the least normal.
  static constexpr Bits kNormal = value(kLeast - 1, To::kMantissaBits);
  /// Least normal and largest value of To.
  static constexpr Bits kLeastNormal = value(kLeast, 0);
  static constexpr Bits kLargest = value(To::kBias, To::kMantissaBits);
};

}  // namespace ampc::weights
