// Devices against the CPU, bit for bit, and their statistics. Skipped where there is no device; AMPC_TEST_FAKE_DEVICE=1
// rehearses everything on one that runs on the host, with fewer random values.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ampc/weights/device.h"
#include "ampc/weights/device_pipeline.h"
#include "fake_device.h"
#include "memory_work.h"
#include "weights_samples.h"

namespace ampc::weights {
namespace {

bool rehearsal() { return std::getenv("AMPC_TEST_FAKE_DEVICE") != nullptr; }

/// Looked for once; `why` where there is none.
const std::vector<std::unique_ptr<Device>>& devices(std::string& why) {
  static std::string reason;
  static const auto found = [] {
    std::vector<std::unique_ptr<Device>> list;
    try {
      if (!rehearsal()) return cuda_devices();
      list.push_back(std::make_unique<test::FakeDevice>());
    } catch (const DeviceError& e) {
      reason = e.what();
    }
    return list;
  }();
  why = reason;
  return found;
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    devices_ = &devices(why);
    if (devices_->empty()) GTEST_SKIP() << "no CUDA device: " << why;
  }
  const std::vector<std::unique_ptr<Device>>& all() const { return *devices_; }
  Device& first() const { return *devices_->front(); }

 private:
  const std::vector<std::unique_ptr<Device>>* devices_ = nullptr;
};

/// A well mixed function of its argument (Steele, Lea, Flood: SplitMix64).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Elements that are made as they are wanted, and made once more to be compared.
template <class From, class To>
class Generated final : public DeviceWork {
 public:
  using Bits = typename From::Bits;
  Generated(bool clamp, std::uint64_t count, std::function<Bits(std::uint64_t)> bits)
      : conversion_(test::conversion<From, To>(clamp)), bits_(std::move(bits)) {
    static constexpr std::size_t kElements =
        DevicePipeline::kLaneBytes / std::max(sizeof(Bits), sizeof(typename To::Bits));
    for (std::uint64_t at = 0; at < count; at += kElements) {
      tasks_.push_back(
          {begins_.size(), conversion_, static_cast<std::size_t>(std::min<std::uint64_t>(kElements, count - at))});
      begins_.push_back(at);
    }
  }

  void check(const std::vector<std::unique_ptr<Device>>& on) {
    DevicePipeline pipeline(on);
    const auto left = pipeline.run(tasks_, *this);
    EXPECT_THAT(pipeline.faults(), testing::IsEmpty());
    EXPECT_THAT(left, testing::IsEmpty());
    EXPECT_EQ(wrong_.load(), 0U) << "the first at element " << first_wrong_ << ", bits 0x" << std::hex
                                 << std::uint64_t{bits_(first_wrong_)};
    EXPECT_EQ(miscounted_.load(), 0U) << "tasks whose statistics are not the CPU's";
  }

 private:
  void load(std::size_t id, std::span<std::byte> source) override {
    for (std::size_t i = 0; i < tasks_[id].count; ++i) {
      const Bits bits = bits_(begins_[id] + i);
      std::memcpy(source.data() + i * sizeof bits, &bits, sizeof bits);
    }
  }
  void store(std::size_t id, std::span<const std::byte> result, const Stats& stats) override {
    std::vector<std::byte> source(tasks_[id].source_bytes());
    load(id, source);
    std::vector<std::byte> want(result.size());
    cpu_caster().cast(conversion_, source.data(), want.data(), tasks_[id].count);
    Stats counts;
    if constexpr (sizeof(Bits) > sizeof(typename To::Bits)) {
      counts = cpu_caster().measure(conversion_, source.data(), tasks_[id].count);
    }
    if (!test::same(stats, counts)) ++miscounted_;
    const auto differs = std::mismatch(want.begin(), want.end(), result.begin()).first;
    const std::scoped_lock lock(mutex_);
    if (differs != want.end() && wrong_++ == 0) {
      first_wrong_ = begins_[id] + static_cast<std::uint64_t>(differs - want.begin()) / sizeof(typename To::Bits);
    }
  }

  Conversion conversion_;
  std::function<Bits(std::uint64_t)> bits_;
  std::vector<DeviceTask> tasks_;
  std::vector<std::uint64_t> begins_;
  std::mutex mutex_;
  std::atomic<std::uint64_t> wrong_{0}, miscounted_{0};  // tasks
  std::uint64_t first_wrong_ = 0;
};

constexpr int kPerClass = 6;  // 2^6 mantissas for each of the 2^16 patterns of sign, exponent and leading mantissa bits

/// Every pattern of the upper 16 bits, below it the lowest, the highest, those around the middle, and random ones.
template <class From>
typename From::Bits of_class(std::uint64_t i) {
  using Bits = typename From::Bits;
  constexpr int kLow = From::kWidth - 16;
  constexpr Bits kMask = (Bits{1} << kLow) - 1;
  constexpr Bits kHalf = Bits{1} << (kLow - 1);
  constexpr std::array<Bits, 6> kEdges{0, 1, kHalf - 1, kHalf, kHalf + 1, kMask};
  const std::uint64_t k = i & ((1U << kPerClass) - 1);
  const Bits low = k < kEdges.size() ? kEdges[k] : static_cast<Bits>(mixed(i)) & kMask;
  return static_cast<Bits>(static_cast<Bits>(i >> kPerClass) << kLow) | low;
}

template <class From, class To>
void every_class(const std::vector<std::unique_ptr<Device>>& on) {
  const std::uint64_t count = std::uint64_t{1} << (16 + kPerClass);
  for (const bool clamp : {false, true}) Generated<From, To>(clamp, count, of_class<From>).check(on);
}

template <class From, class To>
void random(const std::vector<std::unique_ptr<Device>>& on, int bits) {
  const std::uint64_t count = (std::uint64_t{1} << (rehearsal() ? 18 : bits)) + 12345;
  for (const bool clamp : {false, true}) {
    Generated<From, To>(clamp, count, [](std::uint64_t i) {
      return static_cast<typename From::Bits>(mixed(i));
    }).check(on);
  }
}

TEST_F(Gpu, EveryClassOfFloatsToFp16) { every_class<Fp32, Fp16>(all()); }
TEST_F(Gpu, EveryClassOfFloatsToBf16) { every_class<Fp32, Bf16>(all()); }
TEST_F(Gpu, EveryClassOfDoublesToFp16) { every_class<Fp64, Fp16>(all()); }
TEST_F(Gpu, EveryClassOfDoublesToBf16) { every_class<Fp64, Bf16>(all()); }
TEST_F(Gpu, RandomFloatsToFp16) { random<Fp32, Fp16>(all(), 28); }
TEST_F(Gpu, RandomFloatsToBf16) { random<Fp32, Bf16>(all(), 28); }
TEST_F(Gpu, RandomDoublesToFp16) { random<Fp64, Fp16>(all(), 26); }
TEST_F(Gpu, RandomDoublesToBf16) { random<Fp64, Bf16>(all(), 26); }

TEST_F(Gpu, EveryHalfToFp32) {
  const auto bits = [](std::uint64_t i) { return static_cast<std::uint16_t>(i); };
  Generated<Fp16, Fp32>(false, 3 << 16, bits).check(all());
  Generated<Bf16, Fp32>(false, 3 << 16, bits).check(all());
}

/// Values where casts change their minds, the same that the CPU's kernels are held against.
TEST_F(Gpu, BorderlineValues) {
  const auto floats = test::samples<Fp32, Fp16>(0, 1);
  Generated<Fp32, Fp16>(false, floats.size(), [&](std::uint64_t i) { return floats[i]; }).check(all());
  const auto others = test::samples<Fp32, Bf16>(0, 1);
  Generated<Fp32, Bf16>(true, others.size(), [&](std::uint64_t i) { return others[i]; }).check(all());
}

/// No place of source or target needs alignment, and nothing beside the target is touched.
TEST_F(Gpu, AnyPlaceAndAnyLength) {
  static constexpr std::size_t kRoom = 4096;
  const auto lane = first().open(kRoom * 4, kRoom * 2);
  const auto source = lane->source();
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(mixed(i));
  const Conversion conversion = test::conversion<Fp32, Fp16>(true);
  std::vector<std::byte> background(kRoom * 2);
  cpu_caster().cast(conversion, source.data(), background.data(), kRoom);
  for (const std::size_t count : {1U, 7U, 8U, 9U, 64U, 1001U}) {
    for (std::size_t from = 0; from <= 16; ++from) {
      for (std::size_t to = 0; to <= 16; ++to) {
        lane->upload(source.size());
        lane->cast(conversion, 0, 0, kRoom);
        lane->cast(conversion, 512 + from, 64 + to, count);
        lane->download(background.size());
        const std::vector<Stats> stats = lane->wait();
        std::vector<std::byte> want = background;
        cpu_caster().cast(conversion, source.data() + 512 + from, want.data() + 64 + to, count);
        ASSERT_EQ(std::memcmp(want.data(), lane->target().data(), want.size()), 0)
            << count << " elements from " << from << " to " << to;
        ASSERT_EQ(stats.size(), 2U);
        ASSERT_TRUE(test::same(stats[0], cpu_caster().measure(conversion, source.data(), kRoom)));
        ASSERT_TRUE(test::same(stats[1], cpu_caster().measure(conversion, source.data() + 512 + from, count)));
      }
    }
  }
}

/// More memory than there is: an error, after which the device still works.
TEST_F(Gpu, TooLittleMemoryIsAnErrorAndNoMore) {
  if (rehearsal()) GTEST_SKIP() << "the device of the rehearsal has the host's memory";
  EXPECT_THROW(first().open(std::size_t{1} << 30, std::size_t{1} << 45), DeviceError);
  Generated<Fp32, Fp16>(false, 100000, [](std::uint64_t i) {
    return static_cast<std::uint32_t>(mixed(i));
  }).check(all());
}

}  // namespace
}  // namespace ampc::weights
