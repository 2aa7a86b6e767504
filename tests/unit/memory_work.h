// Weights in memory to be cast, and where their casts go.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "ampc/weights/cast_router.h"
#include "weights_samples.h"

namespace ampc::weights::test {

inline bool same(const Stats& a, const Stats& b) {
  return a.absmax == b.absmax && a.count == b.count && a.nonfinite == b.nonfinite && a.overflow == b.overflow &&
         a.underflow == b.underflow && a.subnormal == b.subnormal;
}

/// Weights in memory, and where their casts go: to each its place in `results`.
class MemoryWork final : public CastWork {
 public:
  void add(const Conversion& conversion, std::size_t count) {
    DeviceTask task{tasks.size(), conversion, count};
    std::vector<std::byte> bytes(task.source_bytes());
    std::uint64_t state = 0x9e3779b97f4a7c15ULL * (tasks.size() + 1);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      bytes[i] = static_cast<std::byte>(state >> 56);
    }
    sources.push_back(std::move(bytes));
    results.emplace_back(task.target_bytes());
    stored.push_back(0);
    tasks.push_back(task);
  }

  void load(std::size_t id, std::span<std::byte> source) override {
    ASSERT_EQ(source.size(), sources[id].size());
    std::memcpy(source.data(), sources[id].data(), source.size());
  }
  void store(std::size_t id, std::span<const std::byte> result, const Stats& stats) override {
    if (static_cast<int>(id) == broken_store) throw std::runtime_error("disk full");
    ASSERT_EQ(result.size(), results[id].size());
    const DeviceTask& t = tasks[id];
    const bool narrows = t.conversion.to != ElemType::float32;
    const Stats want = narrows ? cpu_kernel("scalar")->measure(t.conversion, sources[id].data(), t.count) : Stats{};
    EXPECT_TRUE(same(stats, want)) << "task " << id;
    std::memcpy(results[id].data(), result.data(), result.size());
    ++stored[id];
    ++on_device;
  }
  void on_cpu(std::size_t id) override {
    cpu_caster().cast(tasks[id].conversion, sources[id].data(), results[id].data(), tasks[id].count);
    ++stored[id];
  }

  /// Every task is done once, and as the reference does it.
  void check() const {
    Caster& scalar = *cpu_kernel("scalar");
    for (const DeviceTask& t : tasks) {
      std::vector<std::byte> want(t.target_bytes());
      scalar.cast(t.conversion, sources[t.id].data(), want.data(), t.count);
      EXPECT_EQ(results[t.id], want) << "task " << t.id;
      EXPECT_EQ(stored[t.id], 1) << "task " << t.id;
    }
  }
  std::vector<DeviceTask> tasks;
  std::vector<std::vector<std::byte>> sources, results;
  std::vector<int> stored;
  std::atomic<int> on_device{0};
  int broken_store = -1;
};

/// Tasks of every conversion, of sizes that share lanes of that many bytes, fill them and nearly fill them.
inline void fill(MemoryWork& memory, std::size_t lane_bytes) {
  for (const Conversion& c :
       {conversion<Fp32, Fp16>(), conversion<Fp32, Fp16>(true), conversion<Fp32, Bf16>(), conversion<Fp32, Bf16>(true),
        conversion<Fp64, Fp16>(), conversion<Fp64, Bf16>(true), conversion<Fp16, Fp32>(), conversion<Bf16, Fp32>()}) {
    const std::size_t most = lane_bytes / std::max(byte_size(c.from), byte_size(c.to));
    for (const std::size_t count : {std::size_t{1}, most / 16 + 5, most / 4, most / 2, most, most - 3}) {
      memory.add(c, count);
    }
  }
}

}  // namespace ampc::weights::test
