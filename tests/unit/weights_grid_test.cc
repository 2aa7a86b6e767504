// What a GPU's threads do, done here one thread after the other.
#include "ampc/weights/grid_cast.h"

#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "ampc/weights/caster.h"
#include "weights_samples.h"

namespace ampc::weights {
namespace {

struct Place {
  std::size_t source = 0, target = 0;  // bytes past a 16-byte boundary
};

struct alignas(grid::kAccess) Aligned {
  std::byte bytes[grid::kAccess];
};

std::byte* begin(std::vector<Aligned>& room) { return room.front().bytes; }

std::vector<Aligned> room(std::size_t bytes) { return std::vector<Aligned>(bytes / sizeof(Aligned) + 3); }

template <class Bits>
Stats stats_of(const grid::Tally<Bits>& tally, std::size_t count) {
  return {test::value_of(tally.largest), count, tally.nonfinite, tally.overflow, tally.underflow, tally.subnormal};
}

bool same(const Stats& a, const Stats& b) {
  return a.absmax == b.absmax && a.count == b.count && a.nonfinite == b.nonfinite && a.overflow == b.overflow &&
         a.underflow == b.underflow && a.subnormal == b.subnormal;
}

/// Casts `values` with `threads` threads, between canaries; the tallies go to `each`.
template <class Op, class Each>
std::vector<typename Op::To::Bits> run(std::span<const typename Op::From::Bits> values, Place place,
                                       std::size_t threads, Each&& each) {
  using Out = typename Op::To::Bits;
  std::vector<Aligned> in = room(values.size_bytes() + place.source);
  std::vector<Aligned> out = room(values.size() * sizeof(Out) + place.target);
  static constexpr std::byte kCanary{0xa5};
  for (Aligned& a : out) std::fill(std::begin(a.bytes), std::end(a.bytes), kCanary);
  if (!values.empty()) std::memcpy(begin(in) + place.source, values.data(), values.size_bytes());
  for (std::size_t t = 0; t < threads; ++t) {
    Op op;
    grid::cast(begin(in) + place.source, begin(out) + place.target, values.size(), t, threads, op);
    each(op);
  }
  std::vector<Out> result(values.size());
  const std::size_t end = place.target + result.size() * sizeof(Out);
  if (!result.empty()) std::memcpy(result.data(), begin(out) + place.target, result.size() * sizeof(Out));
  for (std::size_t i = 0; i < out.size() * sizeof(Aligned); ++i) {
    if (i >= place.target && i < end) continue;
    EXPECT_EQ(begin(out)[i], kCanary) << "byte " << i << " lies outside of the results";
  }
  return result;
}

template <class From, class To, bool kClamp>
void narrows(std::span<const typename From::Bits> values, Place place, std::size_t threads) {
  Stats got;
  const auto results = run<grid::Narrowing<From, To, kClamp>>(
      values, place, threads, [&](const auto& op) { got.merge(stats_of(op.tally, 0)); });
  got.count = values.size();
  EXPECT_EQ(results, (test::cast_all<From, To>(*cpu_kernel("scalar"), values, kClamp)));
  EXPECT_TRUE(same(got, test::counted<From, To>(values)))
      << "with " << threads << " threads, places " << place.source << " and " << place.target;
}

template <class From>
void widens(std::span<const typename From::Bits> values, Place place, std::size_t threads) {
  const auto results = run<grid::Widening<From, Fp32>>(values, place, threads, [](const auto&) {});
  EXPECT_EQ(results, (test::cast_all<From, Fp32>(*cpu_kernel("scalar"), values)));
}

TEST(WeightsGrid, NarrowsAndCountsAsTheReferenceDoes) {
  const auto floats = test::samples<Fp32, Fp16>(20000, 1);
  const auto others = test::samples<Fp32, Bf16>(20000, 2);
  const auto doubles = test::samples<Fp64, Fp16>(20000, 3);
  for (const std::size_t threads : {1U, 7U, 256U}) {
    narrows<Fp32, Fp16, false>(floats, {}, threads);
    narrows<Fp32, Fp16, true>(floats, {}, threads);
    narrows<Fp32, Bf16, false>(others, {}, threads);
    narrows<Fp32, Bf16, true>(others, {}, threads);
    narrows<Fp64, Fp16, false>(doubles, {}, threads);
    narrows<Fp64, Fp16, true>(doubles, {}, threads);
    narrows<Fp64, Bf16, false>(doubles, {}, threads);
    narrows<Fp64, Bf16, true>(doubles, {}, threads);
  }
}

TEST(WeightsGrid, WidensEveryHalf) {
  const auto halves = test::all_halves();
  for (const std::size_t threads : {1U, 7U, 256U}) {
    widens<Fp16>(halves, {}, threads);
    widens<Bf16>(halves, {}, threads);
  }
}

/// Every head, every tail, every way in which source and target can lie to one another.
TEST(WeightsGrid, NoPlaceAndNoLengthIsSpecial) {
  const auto floats = test::samples<Fp32, Fp16>(0, 1);
  const auto doubles = test::samples<Fp64, Bf16>(0, 1);
  const auto halves = test::all_halves();
  for (std::size_t source = 0; source <= 16; ++source) {
    for (std::size_t target = 0; target <= 16; ++target) {
      for (const std::size_t count : {0U, 1U, 2U, 7U, 8U, 9U, 15U, 16U, 17U, 40U, 67U}) {
        const std::size_t from = (source * 17 + target) * 61 % 1000;  // other values each time
        narrows<Fp32, Fp16, true>(std::span(floats).subspan(from, count), {source, target}, 3);
        narrows<Fp64, Bf16, false>(std::span(doubles).subspan(from, count), {source, target}, 3);
        widens<Fp16>(std::span(halves).subspan(from, count), {source, target}, 3);
      }
    }
  }
}

TEST(WeightsGrid, WholeGroupsGoThroughWideAccesses) {
  std::vector<Aligned> in(64);
  std::vector<Aligned> out(64);
  const auto aligned = grid::cut<std::uint32_t, std::uint16_t>(begin(in), begin(out), 100);
  EXPECT_EQ(aligned.head, 0U);
  EXPECT_EQ(aligned.groups, 12U);
  EXPECT_TRUE(aligned.packed);
  // Source and target one element past a boundary: seven elements on, the target is aligned, and the source.
  const auto both = grid::cut<std::uint32_t, std::uint16_t>(begin(in) + 4, begin(out) + 2, 100);
  EXPECT_EQ(both.head, 7U);
  EXPECT_EQ(both.groups, 11U);
  EXPECT_TRUE(both.packed);
  EXPECT_FALSE((grid::cut<std::uint32_t, std::uint16_t>(begin(in) + 4, begin(out), 100).packed));
  const auto odd = grid::cut<std::uint32_t, std::uint16_t>(begin(in), begin(out) + 1, 100);
  EXPECT_EQ(odd.head, 100U);
  EXPECT_EQ(odd.groups, 0U);
}

}  // namespace
}  // namespace ampc::weights
