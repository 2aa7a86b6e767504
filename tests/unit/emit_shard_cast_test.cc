#include "ampc/emit/shard_cast.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ampc/emit/shard_file.h"
#include "ampc/model/mapped_file.h"
#include "fake_device.h"

namespace ampc::emit {
namespace {

namespace fs = std::filesystem;
using weights::CastOn;
using weights::CastRouter;
using weights::test::Call;
using weights::test::FakeDevice;
using Kind = ShardPlan::Kind;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr ElemType kFp32 = ElemType::float32, kFp64 = ElemType::float64;
constexpr ElemType kFp16 = ElemType::float16, kBf16 = ElemType::bfloat16;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Every kind of job over a file of drawn bytes, in two shards, the first of which ends within a job.
class ShardCastTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("ampc_shard_cast_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::string bytes(12 * kMiB, '\0');
    std::uint32_t state = 7;
    for (char& c : bytes) {
      state = state * 1664525U + 1013904223U;
      c = static_cast<char>(state >> 24);
    }
    std::ofstream(folder_ / "model", std::ios::binary) << bytes;
    plan_.id = "plan";
    plan_.sources = {{"", bytes.size()}};
    std::uint64_t offset = 24;  // a multiple of no page
    const auto add = [&](Kind kind, ElemType from, ElemType to, std::uint64_t size, bool measured, bool clamp = false) {
      plan_.jobs.push_back({kind, 0, offset, size, {from, to, clamp}, measured});
      offset += size;
    };
    add(Kind::copy, kFp32, kFp32, kMiB + 24, false);
    add(Kind::cast, kFp32, kFp16, 3 * kMiB + 8, true);
    add(Kind::cast, kFp64, kBf16, 2 * kMiB + 16, false, true);
    add(Kind::round, kFp32, kBf16, kMiB + 4, false);
    add(Kind::measure, kFp32, kFp16, kMiB + 40, true);
    add(Kind::cast, kFp32, kFp16, 48, true);  // too little for a device, and for the cache
    add(Kind::cast, kFp32, kBf16, 2 * kMiB, false);
    plan_.shards.resize(2);
    plan_.shards[0].ranges = {{0, 0, plan_.jobs[0].size}, {1, 0, 2 * kMiB + 64}};
    plan_.shards[1].ranges = {{1, 2 * kMiB + 64, plan_.jobs[1].size - 2 * kMiB - 64}};
    for (std::uint64_t i = 2; i < plan_.jobs.size(); ++i) plan_.shards[1].ranges.push_back({i, 0, plan_.jobs[i].size});
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string cast(std::uint64_t index, CastRouter& router, WeightCache* cache = nullptr) {
    const std::string path = (folder_ / "shard").string();
    std::atomic<std::uint64_t> done{0};
    OutputFile file(path);
    cast_shard(plan_, index, (folder_ / "model").string(), file,
               {router, cache, [&](std::uint64_t bytes) { done += bytes; }});
    file.commit();
    std::uint64_t size = 0;
    for (const auto& r : plan_.shards[index].ranges) size += r.size;
    EXPECT_EQ(done, size);
    return content(path);
  }

  std::string cast(std::uint64_t index, WeightCache* cache = nullptr) {
    CastRouter cpu(CastOn::cpu);
    return cast(index, cpu, cache);
  }

  fs::path folder_;
  ShardPlan plan_;
};

TEST_F(ShardCastTest, AreTheCpusWhateverTheDeviceDoes) {
  for (const std::uint64_t index : {0U, 1U}) {
    const std::string want = cast(index);
    for (const Call call : {Call::open, Call::upload, Call::cast, Call::download, Call::wait}) {
      for (const int n : {0, 1, 2}) {
        FakeDevice* device = nullptr;
        CastRouter router(
            CastOn::cuda,
            [&] {
              std::vector<std::unique_ptr<weights::Device>> devices;
              devices.push_back(std::make_unique<FakeDevice>());
              device = static_cast<FakeDevice*>(devices.back().get());
              device->fail(call, n);
              return devices;
            },
            {}, kMiB);
        EXPECT_TRUE(cast(index, router) == want) << static_cast<int>(call) << " " << n;
        ASSERT_NE(device, nullptr);
        EXPECT_EQ(router.faults().empty(), n == 0);
        const auto casts = std::count_if(device->events().begin(), device->events().end(),
                                         [](const auto& e) { return e.call == Call::cast; });
        // Slices of half a MiB: those of casts alone, but for the small one and the small ends.
        EXPECT_TRUE(n != 0 || casts == (index == 0 ? 4 : 2 + 4 + 4)) << casts;
      }
    }
  }
}

TEST_F(ShardCastTest, TellsWhatCastingFoundInItsOwnPart) {
  const std::string model = content(folder_ / "model");
  for (const std::uint64_t index : {0U, 1U}) {
    cast(index);
    const MappedFile file((folder_ / "shard").string());
    const ShardFile shard = read_shard(file);
    for (const auto& r : plan_.shards[index].ranges) {
      const auto& job = plan_.jobs[r.job];
      ASSERT_EQ(shard.stats.contains(r.job), job.measured);
      if (!job.measured) continue;
      const auto* source = reinterpret_cast<const std::byte*>(model.data()) + job.offset + r.begin;
      const weights::Stats want =
          weights::cpu_caster().measure(job.conversion, source, r.size / byte_size(job.conversion.from));
      EXPECT_EQ(shard.stats.at(r.job).count, want.count);
      EXPECT_EQ(shard.stats.at(r.job).overflow, want.overflow);
      EXPECT_EQ(shard.stats.at(r.job).underflow, want.underflow);
      EXPECT_NE(want.overflow, 0U);
    }
  }
}

TEST_F(ShardCastTest, TakesFromTheCacheWhatItKept) {
  const std::string want[] = {cast(0), cast(1)};
  const std::string folder = (folder_ / "cache").string();
  const auto said = [&](std::uint64_t index) {
    WeightCache cache(folder, kMiB * 100);
    EXPECT_TRUE(cast(index, &cache) == want[index]);
    return cache.summary();
  };
  EXPECT_EQ(said(0), "cache: 0.0 MB of cast weights taken, 1.0 MB kept");
  EXPECT_EQ(said(0), "cache: 1.0 MB of cast weights taken, 0.0 MB kept");
  // Two casts and one that is rounded; 1 MiB less 56 bytes of the first weight is too little.
  EXPECT_EQ(said(1), "cache: 0.0 MB of cast weights taken, 2.6 MB kept");
  EXPECT_EQ(said(1), "cache: 2.6 MB of cast weights taken, 0.0 MB kept");
  EXPECT_EQ(said(0), "cache: 1.0 MB of cast weights taken, 0.0 MB kept");
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::binary | std::ios::in).put('\x55').put('\x66');
  }
  EXPECT_THAT(said(1), testing::HasSubstr("damaged entries removed"));
  EXPECT_EQ(said(1), "cache: 2.6 MB of cast weights taken, 0.0 MB kept");
}

TEST_F(ShardCastTest, KeepsNothingOfAModelThatIsAnother) {
  plan_.shards[0].hash = std::string(32, '0');
  const std::string folder = (folder_ / "cache").string();
  WeightCache cache(folder, kMiB * 100);
  EXPECT_THROW(cast(0, &cache), ShardFault);
  EXPECT_THAT(cache.summary(), testing::HasSubstr(", 0.0 MB kept"));
}

}  // namespace
}  // namespace ampc::emit
