// Every one of the 2^32 floats through every kernel. Minutes long: runs where the environment has AMPC_FULL=1.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "ampc/weights/caster.h"
#include "ampc/weights/element.h"
#include "weights_samples.h"

namespace ampc::weights {
namespace {

constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
constexpr std::uint32_t kBlock = 1U << 16;

bool full_run() {
  const char* full = std::getenv("AMPC_FULL");
  return full != nullptr && std::strcmp(full, "1") == 0;
}

template <class To>
void every_float(bool clamp) {
  if (!full_run()) GTEST_SKIP() << "every one of the 2^32 floats: set AMPC_FULL=1";
  std::vector<Caster*> casters;
  for (const std::string_view name : cpu_kernels()) casters.push_back(cpu_kernel(name));
  std::atomic<std::uint64_t> compared{0};
  std::vector<std::atomic<std::uint64_t>> wrong(casters.size());  // the first bits that differ, plus one
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, kAll / kBlock, 64), [&](const auto& range) {
    std::vector<std::uint32_t> bits(kBlock);
    std::vector<std::uint16_t> want(kBlock);
    std::vector<std::uint16_t> got(kBlock);
    for (std::uint64_t block = range.begin(); block != range.end(); ++block) {
      for (std::uint32_t i = 0; i < kBlock; ++i) {
        bits[i] = static_cast<std::uint32_t>(block) * kBlock + i;
        want[i] = narrow<Fp32, To>(bits[i], clamp);
      }
      for (std::size_t k = 0; k < casters.size(); ++k) {
        casters[k]->cast(test::conversion<Fp32, To>(clamp), reinterpret_cast<const std::byte*>(bits.data()),
                         reinterpret_cast<std::byte*>(got.data()), kBlock);
        if (std::memcmp(got.data(), want.data(), kBlock * sizeof(std::uint16_t)) != 0) {
          const auto at = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
          std::uint64_t none = 0;
          wrong[k].compare_exchange_strong(none, std::uint64_t{bits[static_cast<std::size_t>(at)]} + 1);
        }
        compared += kBlock;
      }
    }
  });
  EXPECT_EQ(compared.load(), kAll * casters.size());
  for (std::size_t k = 0; k < casters.size(); ++k) {
    EXPECT_EQ(wrong[k].load(), 0U) << casters[k]->name() << " differs at bits " << std::hex << wrong[k].load() - 1;
  }
}

/// The reference itself, against rounding by double arithmetic.
template <class To>
void every_reference_float() {
  if (!full_run()) GTEST_SKIP() << "every one of the 2^32 floats: set AMPC_FULL=1";
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> compared{0};
  // Both signs at once: half the patterns.
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, kAll / 2 / kBlock, 64), [&](const auto& range) {
    for (std::uint64_t block = range.begin(); block != range.end(); ++block) {
      for (std::uint32_t i = 0; i < kBlock; ++i) {
        const std::uint32_t bits = static_cast<std::uint32_t>(block) * kBlock + i;
        const std::uint16_t want = test::expected<To>(test::value_of(bits), false);
        const bool right =
            narrow<Fp32, To>(bits, false) == want && narrow<Fp32, To>(bits | Fp32::kSign, false) == (want | To::kSign);
        if (!right) wrong = std::uint64_t{bits} + 1;
      }
      compared += kBlock;
    }
  });
  EXPECT_EQ(compared.load(), kAll / 2);
  EXPECT_EQ(wrong.load(), 0U) << "differs at bits " << std::hex << wrong.load() - 1;
}

TEST(WeightsExhaustive, Fp16) { every_float<Fp16>(false); }
TEST(WeightsExhaustive, Fp16Clamp) { every_float<Fp16>(true); }
TEST(WeightsExhaustive, Bf16) { every_float<Bf16>(false); }
TEST(WeightsExhaustive, Bf16Clamp) { every_float<Bf16>(true); }
TEST(WeightsExhaustive, ReferenceFp16) { every_reference_float<Fp16>(); }
TEST(WeightsExhaustive, ReferenceBf16) { every_reference_float<Bf16>(); }

}  // namespace
}  // namespace ampc::weights
