// A result that is made in parts, cut at any byte, is the result; so is what was found in the source.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "ampc/emit/weight_jobs.h"

namespace ampc::emit {
namespace {

struct Case {
  const char* name;
  weights::Conversion conversion;
  bool cast, back;
};

class WeightJobParts : public testing::TestWithParam<Case> {};

TEST_P(WeightJobParts, AreTheWhole) {
  const auto [name, conversion, cast, back] = GetParam();
  constexpr std::size_t kCount = 1001;
  std::vector<std::byte> source(kCount * byte_size(conversion.from));
  constexpr unsigned kSeed = 5;
  std::mt19937 random(kSeed);
  for (std::byte& b : source) b = static_cast<std::byte>(random() & 0xffU);
  WeightJob job{source, cast, conversion, back};
  weights::Caster& caster = weights::cpu_caster();
  std::vector<std::byte> whole(job.size());
  weights::Stats all;
  job.run(0, whole, caster, &all);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> made(whole.size());
    weights::Stats found;
    for (std::size_t at = 0; at < made.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % (round < 100 ? 9 : 700), made.size() - at);
      job.run(at, std::span(made).subspan(at, size), caster, &found);
      at += size;
    }
    ASSERT_EQ(made, whole);
    EXPECT_EQ(found.count, all.count);
    EXPECT_EQ(found.absmax, all.absmax);
    EXPECT_EQ(found.overflow, all.overflow);
    EXPECT_EQ(found.underflow, all.underflow);
    EXPECT_EQ(found.subnormal, all.subnormal);
  }
  const bool counted = cast && !back && is_low(conversion.to);
  EXPECT_EQ(all.count, counted ? kCount : 0U);
}

constexpr auto F16 = ElemType::float16, B16 = ElemType::bfloat16, F32 = ElemType::float32, F64 = ElemType::float64;

INSTANTIATE_TEST_SUITE_P(
    Conversions, WeightJobParts,
    testing::Values(Case{"Fp16", {F32, F16, false}, true, false}, Case{"Fp16Clamped", {F32, F16, true}, true, false},
                    Case{"Bf16", {F32, B16, false}, true, false}, Case{"Fp64ToFp16", {F64, F16, false}, true, false},
                    Case{"Fp16ToFp32", {F16, F32, false}, true, false}, Case{"AndBack", {F32, F16, false}, true, true},
                    Case{"AsItIs", {F32, F32, false}, false, false}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ampc::emit
