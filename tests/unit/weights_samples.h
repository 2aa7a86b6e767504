// Values that casting may get wrong, and a reference of another kind: rounding done by double arithmetic.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "ampc/weights/caster.h"
#include "ampc/weights/element.h"

namespace ampc::weights::test {

/// Every 16-bit pattern.
inline std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i);
  return values;
}

/// Bit patterns of From around everything where a cast to To changes its mind, both signs, and a run of random ones.
template <class From, class To>
std::vector<typename From::Bits> samples(std::size_t random_count, std::uint64_t seed) {
  using Bits = typename From::Bits;
  std::vector<Bits> values;
  const auto around = [&](Bits magnitude) {
    for (int step = -2; step <= 2; ++step) {
      const auto near = static_cast<Bits>((magnitude + static_cast<Bits>(step)) & From::kMagnitude);
      values.push_back(near);
      values.push_back(static_cast<Bits>(near | From::kSign));
    }
  };
  using Bounds = Limits<From, To>;
  for (const Bits magnitude :
       {Bits{0}, From::kInfinity, From::kQuietNan, From::kMagnitude, Bounds::kOverflow, Bounds::kUnderflow,
        Bounds::kNormal, Bounds::kLeastNormal, Bounds::kLargest, static_cast<Bits>(Bits{1} << From::kMantissaBits)}) {
    around(magnitude);
  }
  // Every value of To and the midpoint above it, for both exponents where they differ.
  constexpr int kShift = From::kMantissaBits - To::kMantissaBits;
  constexpr auto kRebias = static_cast<Bits>(static_cast<Bits>(From::kBias - To::kBias) << From::kMantissaBits);
  // Of fp32's, which are too many, some from every binade.
  constexpr Bits kStep = To::kWidth == 32 ? 40'009 : 1;
  for (Bits low = 0; low <= To::kInfinity; low += kStep) {
    const auto exact = static_cast<Bits>((low << kShift) + kRebias);
    around(exact);
    around(static_cast<Bits>(exact + (Bits{1} << (kShift - 1))));
  }
  // The subnormals of To, and the midpoints between them.
  for (int i = 0; i < 2 << To::kMantissaBits; i += static_cast<int>(kStep)) {
    const double value = std::ldexp(i, -To::kBias - To::kMantissaBits);
    if constexpr (From::kWidth == 64) {
      around(std::bit_cast<std::uint64_t>(value));
    } else {
      around(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
  }
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < random_count; ++i) {
    auto bits = static_cast<Bits>(random());
    if (i % 2 == 0) {
      // Uniform bits seldom fall into fp16's range: every other value does, a few steps beyond it included.
      const auto exponent = static_cast<Bits>(From::kBias - 28 + static_cast<int>(random() % 48));
      bits = static_cast<Bits>((bits & ~From::kInfinity) | (exponent << From::kMantissaBits));
    }
    values.push_back(bits);
  }
  return values;
}

/// The value of a bit pattern.
inline double value_of(std::uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
inline double value_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }

/// 2^exponent, for any normal double.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + Fp64::kBias) << Fp64::kMantissaBits);
}

/// What a cast must give: the value counted in units of its last place in To, rounded there by the double addition that
/// leaves no room for a fraction (the default rounding mode is to nearest, ties to even).
template <class To>
typename To::Bits expected(double value, bool clamp) {
  using Bits = typename To::Bits;
  const Bits sign = std::signbit(value) ? To::kSign : Bits{0};
  const auto with_sign = [&](unsigned magnitude) { return static_cast<Bits>(sign | magnitude); };
  if (std::isnan(value)) return with_sign(To::kQuietNan);
  if (std::isinf(value)) return with_sign(To::kInfinity);
  const double magnitude = std::fabs(value);
  static constexpr int kLeast = 1 - To::kBias;
  const auto binade = [](double x) {
    return std::max(static_cast<int>(std::bit_cast<std::uint64_t>(x) >> Fp64::kMantissaBits) - Fp64::kBias, kLeast);
  };
  const int place = binade(magnitude) - To::kMantissaBits;
  const double rounded = ((magnitude * power_of_two(-place) + 0x1p52) - 0x1p52) * power_of_two(place);
  if (rounded >= power_of_two(To::kBias) * 2) return with_sign(clamp ? To::kLargest : To::kInfinity);
  // The bits count places from zero on: linear within a binade, the exponent stepping at its end.
  const int exponent = binade(rounded);
  const auto places = static_cast<unsigned>(rounded * power_of_two(To::kMantissaBits - exponent));
  return with_sign((static_cast<unsigned>(exponent - kLeast) << To::kMantissaBits) + places);
}

/// Statistics of a range, counted one by one from the reference.
template <class From, class To>
Stats counted(std::span<const typename From::Bits> values) {
  Stats stats;
  for (const auto bits : values) {
    ++stats.count;
    const double value = value_of(bits);
    if (!std::isfinite(value)) {
      ++stats.nonfinite;
      continue;
    }
    stats.absmax = std::max(stats.absmax, std::fabs(value));
    const unsigned low = expected<To>(value, false) & To::kMagnitude;
    stats.overflow += low == To::kInfinity ? 1U : 0U;
    stats.underflow += value != 0 && low == 0 ? 1U : 0U;
    stats.subnormal += low != 0 && low < (1U << To::kMantissaBits) ? 1U : 0U;
  }
  return stats;
}

template <class Format>
constexpr ElemType elem_type() {
  if constexpr (Format::kWidth == 64) {
    return ElemType::float64;
  } else if constexpr (Format::kWidth == 32) {
    return ElemType::float32;
  } else {
    return Format::kMantissaBits == 10 ? ElemType::float16 : ElemType::bfloat16;
  }
}

template <class From, class To>
constexpr Conversion conversion(bool clamp = false) {
  return {elem_type<From>(), elem_type<To>(), clamp};
}

template <class From, class To>
std::vector<typename To::Bits> cast_all(Caster& caster, std::span<const typename From::Bits> values,
                                        bool clamp = false) {
  std::vector<typename To::Bits> out(values.size());
  caster.cast(conversion<From, To>(clamp), reinterpret_cast<const std::byte*>(values.data()),
              reinterpret_cast<std::byte*>(out.data()), values.size());
  return out;
}

}  // namespace ampc::weights::test
