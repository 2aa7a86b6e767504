// Every kernel of this machine against the scalar reference, and that against arithmetic of another kind.
#include "ampc/weights/caster.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "ampc/weights/element.h"
#include "ampc/weights/kernel_table.h"
#include "weights_samples.h"

namespace ampc::weights {
namespace {

using test::cast_all;
using test::conversion;

bool same(const Stats& a, const Stats& b) {
  return a.absmax == b.absmax && a.count == b.count && a.nonfinite == b.nonfinite && a.overflow == b.overflow &&
         a.underflow == b.underflow && a.subnormal == b.subnormal;
}

std::string text(const Stats& s) {
  return "absmax " + std::to_string(s.absmax) + " count " + std::to_string(s.count) + " nonfinite " +
         std::to_string(s.nonfinite) + " overflow " + std::to_string(s.overflow) + " underflow " +
         std::to_string(s.underflow) + " subnormal " + std::to_string(s.subnormal);
}

/// The first index at which two ranges differ, or their size.
template <class T>
std::size_t first_difference(const std::vector<T>& a, const std::vector<T>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

TEST(WeightsElement, KnownValues) {
  EXPECT_EQ(to_fp16(0.1F), 0x2e66);
  EXPECT_EQ(to_fp16(65504.0F), 0x7bff);
  EXPECT_EQ(to_fp16(65519.996F), 0x7bff);
  EXPECT_EQ(to_fp16(65520.0F), 0x7c00);
  EXPECT_EQ(to_fp16(-65520.0F), 0xfc00);
  EXPECT_EQ(to_fp16(0x1p-24F), 0x0001);
  EXPECT_EQ(to_fp16(0x1p-25F), 0x0000);
  EXPECT_EQ(to_fp16(-0x1p-25F), 0x8000);
  EXPECT_EQ(to_fp16(0x1.000002p-25F), 0x0001);
  EXPECT_EQ(to_fp16(2049.0F), 0x6800);  // a tie, to 2048
  EXPECT_EQ(to_fp16(2051.0F), 0x6802);  // a tie, to 2052
  EXPECT_EQ(to_bf16(1.0F), 0x3f80);
  EXPECT_EQ(to_bf16(3.4e38F), 0x7f80);
  EXPECT_EQ(to_bf16(0x1.fep127F), 0x7f7f);
  EXPECT_EQ(to_bf16(0x1p-133F), 0x0001);
  EXPECT_EQ(to_bf16(0x1p-134F), 0x0000);
  EXPECT_EQ(from_fp16(0x3c00), 1.0F);
  EXPECT_EQ(from_fp16(0x0001), 0x1p-24F);
  EXPECT_EQ(from_fp16(0x03ff), 0x1.ff8p-15F);
  EXPECT_EQ(from_bf16(0x0001), 0x1p-133F);
}

TEST(WeightsElement, EveryNanBecomesTheQuietOneWithItsSign) {
  for (const std::uint32_t nan : {0x7f800001U, 0x7fbfffffU, 0x7fc00000U, 0x7fffffffU}) {
    EXPECT_EQ((narrow<Fp32, Fp16>(nan, false)), 0x7e00);
    EXPECT_EQ((narrow<Fp32, Fp16>(nan | 0x80000000U, true)), 0xfe00);
    EXPECT_EQ((narrow<Fp32, Bf16>(nan, true)), 0x7fc0);
    EXPECT_EQ((narrow<Fp32, Bf16>(nan | 0x80000000U, false)), 0xffc0);
  }
  EXPECT_EQ((widen<Fp16, Fp32>(0x7c01)), 0x7fc00000U);
  EXPECT_EQ((widen<Fp16, Fp32>(0xffff)), 0xffc00000U);
  EXPECT_EQ((widen<Bf16, Fp32>(0xff81)), 0xffc00000U);
}

TEST(WeightsElement, DoubleRoundsOnce) {
  // Just above a tie between fp16 neighbours, by less than fp32 sees: through fp32 it would be taken for the tie.
  const double above_tie = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ((narrow<Fp64, Fp16>(std::bit_cast<std::uint64_t>(above_tie), false)), 0x3c01);
  EXPECT_EQ((narrow<Fp32, Fp16>(std::bit_cast<std::uint32_t>(static_cast<float>(above_tie)), false)), 0x3c00);
  const double below_limit = 65520.0 - 0x1p-30;
  EXPECT_EQ((narrow<Fp64, Fp16>(std::bit_cast<std::uint64_t>(below_limit), false)), 0x7bff);
  const double above_half = 0x1p-134 * (1 + 0x1p-50);
  EXPECT_EQ((narrow<Fp64, Bf16>(std::bit_cast<std::uint64_t>(above_half), false)), 0x0001);
}

TEST(WeightsElement, LimitsAreWhereTheCastChanges) {
  const auto changes = [](auto from, auto to) {
    using From = decltype(from);
    using To = decltype(to);
    using Bounds = Limits<From, To>;
    using Bits = typename From::Bits;
    const auto low = [](Bits bits) { return narrow<From, To>(bits, false); };
    EXPECT_EQ(low(Bounds::kOverflow), To::kInfinity);
    EXPECT_EQ(low(Bounds::kOverflow - 1), To::kLargest);
    EXPECT_EQ(low(Bounds::kUnderflow), 0);
    EXPECT_EQ(low(Bounds::kUnderflow + 1), 1);
    EXPECT_EQ(low(Bounds::kNormal), 1U << To::kMantissaBits);
    EXPECT_EQ(low(Bounds::kNormal - 1), (1U << To::kMantissaBits) - 1);
    EXPECT_EQ(low(Bounds::kLeastNormal), 1U << To::kMantissaBits);
    EXPECT_EQ(low(Bounds::kLargest), To::kLargest);
  };
  changes(Fp32{}, Fp16{});
  changes(Fp32{}, Bf16{});
  changes(Fp64{}, Fp16{});
  changes(Fp64{}, Bf16{});
  changes(Fp64{}, Fp32{});
}

template <class From, class To>
void expect_reference_right() {
  const auto values = test::samples<From, To>(1'000'000, 20240607);
  for (const bool clamp : {false, true}) {
    for (const auto bits : values) {
      const auto got = narrow<From, To>(bits, clamp);
      const auto want = test::expected<To>(test::value_of(bits), clamp);
      ASSERT_EQ(got, want) << "bits " << std::hex << bits << " clamp " << clamp;
    }
  }
}

TEST(WeightsElement, AgainstScaledRounding) {
  expect_reference_right<Fp32, Fp16>();
  expect_reference_right<Fp32, Bf16>();
  expect_reference_right<Fp64, Fp16>();
  expect_reference_right<Fp64, Bf16>();
  expect_reference_right<Fp64, Fp32>();
}

TEST(WeightsElement, DoubleToFloatAsTheMachineDoesIt) {
  for (const std::uint64_t bits : test::samples<Fp64, Fp32>(1'000'000, 9)) {
    const double value = std::bit_cast<double>(bits);
    if (std::isnan(value)) continue;  // the machine keeps a payload
    ASSERT_EQ((narrow<Fp64, Fp32>(bits, false)), std::bit_cast<std::uint32_t>(static_cast<float>(value)))
        << std::hex << bits;
  }
}

TEST(WeightsElement, AgainstTheCompilersFloat16) {
#if defined(__FLT16_MAX__)
  const auto bits_of = [](_Float16 value) { return std::bit_cast<std::uint16_t>(value); };
  for (const std::uint32_t bits : test::samples<Fp32, Fp16>(1'000'000, 7)) {
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;  // the compiler keeps a payload
    ASSERT_EQ(to_fp16(value), bits_of(static_cast<_Float16>(value))) << std::hex << bits;
  }
  for (const std::uint64_t bits : test::samples<Fp64, Fp16>(1'000'000, 8)) {
    const double value = std::bit_cast<double>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ((narrow<Fp64, Fp16>(bits, false)), bits_of(static_cast<_Float16>(value))) << std::hex << bits;
  }
  for (const std::uint16_t half : test::all_halves()) {
    const auto value = static_cast<float>(std::bit_cast<_Float16>(half));
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(from_fp16(half)), std::bit_cast<std::uint32_t>(value)) << std::hex << half;
  }
#else
  GTEST_SKIP() << "this compiler has no _Float16 here";
#endif
}

TEST(WeightsElement, EveryHalfSurvivesTheWayUpAndDown) {
  for (const std::uint16_t half : test::all_halves()) {
    const bool fp16_nan = (half & Fp16::kMagnitude) > Fp16::kInfinity;
    const bool bf16_nan = (half & Bf16::kMagnitude) > Bf16::kInfinity;
    const auto sign = static_cast<std::uint16_t>(half & 0x8000U);
    ASSERT_EQ(to_fp16(from_fp16(half)), fp16_nan ? sign | Fp16::kQuietNan : half);
    ASSERT_EQ(to_bf16(from_bf16(half)), bf16_nan ? sign | Bf16::kQuietNan : half);
  }
}

/// One kernel of this machine; the parameter is its name.
class WeightsKernel : public ::testing::TestWithParam<std::string> {
 protected:
  Caster& kernel() { return *cpu_kernel(GetParam()); }
  Caster& scalar() { return *cpu_kernel("scalar"); }

  template <class From, class To>
  void expect_narrow_equal() {
    const auto values = test::samples<From, To>(1'000'000, 99);
    for (const bool clamp : {false, true}) {
      const auto got = cast_all<From, To>(kernel(), values, clamp);
      const auto want = cast_all<From, To>(scalar(), values, clamp);
      const std::size_t at = first_difference(got, want);
      ASSERT_EQ(at, values.size()) << std::hex << "bits " << values[at] << " gave " << got[at] << ", not " << want[at]
                                   << ", clamp " << clamp;
    }
  }

  template <class From>
  void expect_widen_equal() {
    const auto values = test::all_halves();
    const auto got = cast_all<From, Fp32>(kernel(), values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(got[i], (widen<From, Fp32>(values[i]))) << std::hex << "bits " << values[i];
    }
  }

  template <class From, class To>
  void expect_measured() {
    const auto values = test::samples<From, To>(300'000, 123);
    const std::span<const typename From::Bits> all(values);
    // From several starts and of several lengths: tails of every size, with and without the vector loop.
    for (const std::size_t start : {std::size_t{0}, std::size_t{1}, std::size_t{777}}) {
      for (std::size_t length = 0; length <= 70; ++length) {
        const auto part = all.subspan(start, length);
        const Stats want = test::counted<From, To>(part);
        const Stats got =
            kernel().measure(conversion<From, To>(), reinterpret_cast<const std::byte*>(part.data()), part.size());
        ASSERT_TRUE(same(got, want)) << text(got) << " instead of " << text(want);
      }
    }
    const Stats want = test::counted<From, To>(all);
    const Stats got =
        kernel().measure(conversion<From, To>(), reinterpret_cast<const std::byte*>(values.data()), values.size());
    ASSERT_TRUE(same(got, want)) << text(got) << " instead of " << text(want);
    ASSERT_GT(want.overflow, 0U);
    ASSERT_GT(want.underflow, 0U);
    ASSERT_GT(want.subnormal, 0U);
    ASSERT_GT(want.nonfinite, 0U);
  }

  /// Runs of what weights are mostly made of, with one value that is not, now here, now there.
  template <class From, class To>
  void expect_measured_rarities() {
    using Bits = typename From::Bits;
    using Bounds = Limits<From, To>;
    std::vector<Bits> ordinary;
    for (const Bits bits : test::samples<From, To>(20'000, 5)) {
      const Bits magnitude = bits & From::kMagnitude;
      if (magnitude > Bounds::kUnderflow && magnitude < Bounds::kOverflow) ordinary.push_back(bits);
    }
    ordinary.resize(5'000);
    const Bits rarities[] = {0,           Bounds::kUnderflow, Bounds::kOverflow,      From::kInfinity,
                             From::kSign, From::kQuietNan,    Bounds::kOverflow - 1U, Bounds::kUnderflow + 1U};
    for (const Bits rare : rarities) {
      for (std::size_t at = 0; at < ordinary.size(); at += 311) {
        auto values = ordinary;
        values[at] = rare;
        const Stats want = test::counted<From, To>(values);
        const Stats got =
            kernel().measure(conversion<From, To>(), reinterpret_cast<const std::byte*>(values.data()), values.size());
        ASSERT_TRUE(same(got, want)) << text(got) << " instead of " << text(want) << ", " << std::hex << rare;
      }
    }
  }

  template <class From, class To>
  void expect_cast_measured() {
    const auto values = test::samples<From, To>(20'000, 77);
    const auto* source = reinterpret_cast<const std::byte*>(values.data());
    for (const bool clamp : {false, true}) {
      std::vector<typename To::Bits> got(values.size());
      const Stats stats = kernel().cast_measured(conversion<From, To>(clamp), source,
                                                 reinterpret_cast<std::byte*>(got.data()), values.size());
      EXPECT_EQ(got, (cast_all<From, To>(kernel(), values, clamp)));
      EXPECT_TRUE(same(stats, kernel().measure(conversion<From, To>(), source, values.size())));
    }
  }

  /// Source and target at every misalignment, every length up to 70, with guard bytes around the target.
  template <class From, class To>
  void expect_tails() {
    const auto values = test::samples<Fp64, Fp16>(0, 0);
    std::vector<std::byte> pool(values.size() * sizeof(std::uint64_t));
    std::memcpy(pool.data(), values.data(), pool.size());
    constexpr std::size_t kIn = sizeof(typename From::Bits);
    constexpr std::size_t kOut = sizeof(typename To::Bits);
    constexpr std::byte kGuard{0xa5};
    for (std::size_t shift = 0; shift < 8; ++shift) {
      for (std::size_t length = 0; length <= 70; ++length) {
        const std::size_t size = length * kOut;
        std::vector<std::byte> got(16 + size + 64, kGuard);
        std::vector<std::byte> want(16 + size + 64, kGuard);
        // The source ends where its allocation ends, so that reading past it shows under a sanitizer.
        const auto begin = pool.begin() + static_cast<std::ptrdiff_t>(length * 64);
        std::vector<std::byte> source(shift);
        source.insert(source.end(), begin, begin + static_cast<std::ptrdiff_t>(length * kIn));
        kernel().cast(conversion<From, To>(), source.data() + shift, got.data() + 8 + shift, length);
        scalar().cast(conversion<From, To>(), source.data() + shift, want.data() + 8 + shift, length);
        ASSERT_EQ(got, want) << "length " << length << " shift " << shift;
      }
    }
  }
};

TEST_P(WeightsKernel, Fp32ToFp16) { expect_narrow_equal<Fp32, Fp16>(); }
TEST_P(WeightsKernel, Fp32ToBf16) { expect_narrow_equal<Fp32, Bf16>(); }
TEST_P(WeightsKernel, Fp64ToFp16) { expect_narrow_equal<Fp64, Fp16>(); }
TEST_P(WeightsKernel, Fp64ToBf16) { expect_narrow_equal<Fp64, Bf16>(); }
TEST_P(WeightsKernel, Fp64ToFp32) { expect_narrow_equal<Fp64, Fp32>(); }
TEST_P(WeightsKernel, EveryFp16ToFp32) { expect_widen_equal<Fp16>(); }
TEST_P(WeightsKernel, EveryBf16ToFp32) { expect_widen_equal<Bf16>(); }
TEST_P(WeightsKernel, MeasureFp32Fp16) { expect_measured<Fp32, Fp16>(); }
TEST_P(WeightsKernel, MeasureFp32Bf16) { expect_measured<Fp32, Bf16>(); }
TEST_P(WeightsKernel, MeasureFp64Fp16) { expect_measured<Fp64, Fp16>(); }
TEST_P(WeightsKernel, MeasureFp64Bf16) { expect_measured<Fp64, Bf16>(); }
TEST_P(WeightsKernel, MeasureFp64Fp32) { expect_measured<Fp64, Fp32>(); }

TEST_P(WeightsKernel, MeasureOrdinaryWeights) {
  expect_measured_rarities<Fp32, Fp16>();
  expect_measured_rarities<Fp32, Bf16>();
  expect_measured_rarities<Fp64, Fp16>();
  expect_measured_rarities<Fp64, Bf16>();
  expect_measured_rarities<Fp64, Fp32>();
}

TEST_P(WeightsKernel, CastMeasured) {
  expect_cast_measured<Fp32, Fp16>();
  expect_cast_measured<Fp32, Bf16>();
  expect_cast_measured<Fp64, Fp16>();
  expect_cast_measured<Fp64, Bf16>();
  expect_cast_measured<Fp64, Fp32>();
}

TEST_P(WeightsKernel, TailsAndMisalignment) {
  expect_tails<Fp32, Fp16>();
  expect_tails<Fp32, Bf16>();
  expect_tails<Fp64, Fp16>();
  expect_tails<Fp64, Bf16>();
  expect_tails<Fp64, Fp32>();
  expect_tails<Fp16, Fp32>();
  expect_tails<Bf16, Fp32>();
}

TEST_P(WeightsKernel, ClampKeepsInfinitiesAndNans) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1e30F, -1e30F, inf, -inf, std::nanf(""), 65520.0F, 65504.0F, 3.4e38F};
  std::vector<std::uint32_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  EXPECT_EQ((cast_all<Fp32, Fp16>(kernel(), bits, true)),
            (std::vector<std::uint16_t>{0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7bff, 0x7bff, 0x7bff}));
  EXPECT_EQ((cast_all<Fp32, Fp16>(kernel(), bits, false)),
            (std::vector<std::uint16_t>{0x7c00, 0xfc00, 0x7c00, 0xfc00, 0x7e00, 0x7c00, 0x7bff, 0x7c00}));
  EXPECT_EQ((cast_all<Fp32, Bf16>(kernel(), bits, true)).back(), 0x7f7f);
  EXPECT_EQ((cast_all<Fp32, Bf16>(kernel(), bits, false)).back(), 0x7f80);
}

TEST_P(WeightsKernel, NoPathBetweenOtherTypes) {
  std::byte bytes[16] = {};
  const Conversion to_integer{ElemType::float32, ElemType::int32, false};
  EXPECT_THROW(kernel().cast(to_integer, bytes, bytes + 8, 1), std::invalid_argument);
  EXPECT_THROW(kernel().measure(to_integer, bytes, 1), std::invalid_argument);
  const Conversion sideways{ElemType::float16, ElemType::bfloat16, false};
  EXPECT_THROW(kernel().cast(sideways, bytes, bytes + 8, 1), std::invalid_argument);
  const Conversion up{ElemType::float32, ElemType::float64, false};
  EXPECT_THROW(kernel().cast(up, bytes, bytes + 8, 1), std::invalid_argument);
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const std::string_view name : cpu_kernels()) names.emplace_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryKernel, WeightsKernel, ::testing::ValuesIn(kernel_names()),
                         [](const auto& test) { return test.param; });

TEST(WeightsCaster, ScalarIsAlwaysThereAndLast) {
  const auto names = cpu_kernels();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.back(), "scalar");
  EXPECT_EQ(std::count(names.begin(), names.end(), "scalar"), 1);
  for (const std::string_view name : names) EXPECT_EQ(cpu_kernel(name)->name(), name);
  EXPECT_EQ(cpu_kernel("no such kernel"), nullptr);
}

TEST(WeightsCaster, ForcedKernel) {
  EXPECT_EQ(pick_cpu_caster("").name(), cpu_kernels().front());
  for (const std::string_view name : cpu_kernels()) EXPECT_EQ(pick_cpu_caster(name).name(), name);
  try {
    pick_cpu_caster("mmx");
    FAIL() << "a kernel of that name?";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'mmx'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("scalar"), std::string::npos) << error.what();
  }
}

TEST(WeightsStats, MergeIsAssociativeAndCommutative) {
  const auto values = test::samples<Fp32, Fp16>(10'000, 5);
  const std::span<const std::uint32_t> all(values);
  const Stats a = test::counted<Fp32, Fp16>(all.first(1000));
  const Stats b = test::counted<Fp32, Fp16>(all.subspan(1000, 5000));
  const Stats c = test::counted<Fp32, Fp16>(all.subspan(6000));
  Stats left = a;
  left.merge(b);
  left.merge(c);
  Stats right = c;
  Stats tail = b;
  tail.merge(a);
  right.merge(tail);
  EXPECT_TRUE(same(left, right));
  EXPECT_TRUE(same(left, test::counted<Fp32, Fp16>(all)));
}

TEST(WeightsParallel, ChunksJoinSeamlessly) {
  // Over two chunks and a bit, and not a multiple of anything.
  std::vector<std::uint32_t> values = test::samples<Fp32, Fp16>(2'500'000, 11);
  values.resize(values.size() - values.size() % 2 + 1);
  ASSERT_GT(values.size(), std::size_t{2} << 20);
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  Caster& caster = cpu_caster();
  const Conversion to_low = conversion<Fp32, Fp16>();
  std::vector<std::uint16_t> got(values.size() + 1, 0x1234);
  cast_parallel(caster, to_low, bytes, reinterpret_cast<std::byte*>(got.data()), values.size());
  EXPECT_EQ(got.back(), 0x1234) << "written past the end";
  got.pop_back();
  const auto want = cast_all<Fp32, Fp16>(caster, values);
  EXPECT_EQ(first_difference(got, want), want.size());
  const Stats whole = caster.measure(to_low, bytes, values.size());
  EXPECT_TRUE(same(measure_parallel(caster, to_low, bytes, values.size()), whole));
  EXPECT_TRUE(same(measure_parallel(caster, to_low, bytes, 100), caster.measure(to_low, bytes, 100)));
}

}  // namespace
}  // namespace ampc::weights
