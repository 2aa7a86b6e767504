// The pipeline of devices and the choice between them and the CPU, on devices that run on the host.
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include "ampc/weights/cast_router.h"
#include "ampc/weights/device_pipeline.h"
#include "fake_device.h"
#include "memory_work.h"
#include "weights_samples.h"

namespace ampc::weights {
namespace {

using test::Call;
using test::FakeDevice;
using test::fill;
using test::MemoryWork;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kSmallLane = std::size_t{1} << 16;  // many batches of few bytes

using Devices = std::vector<std::unique_ptr<Device>>;

Devices fakes(int n) {
  Devices devices;
  for (int i = 0; i < n; ++i) devices.push_back(std::make_unique<FakeDevice>());
  return devices;
}

FakeDevice& fake(const Devices& devices, std::size_t i = 0) { return static_cast<FakeDevice&>(*devices[i]); }

TEST(WeightsPipeline, CastsAndCountsAsTheCpuDoes) {
  for (const int n : {1, 3}) {
    MemoryWork memory;
    fill(memory, kSmallLane);
    const Devices devices = fakes(n);
    DevicePipeline pipeline(devices, kSmallLane);
    EXPECT_THAT(pipeline.run(memory.tasks, memory), IsEmpty());
    EXPECT_TRUE(pipeline.alive());
    memory.check();
  }
}

TEST(WeightsPipeline, LeavesWhatNoLaneHolds) {
  MemoryWork memory;
  for (const std::size_t bytes : {kSmallLane, kSmallLane + 4, std::size_t{8}, std::size_t{0}, kSmallLane - 4}) {
    memory.add(test::conversion<Fp32, Fp16>(), bytes / 4);
    memory.add(test::conversion<Fp16, Fp32>(), bytes / 4);
  }
  const Devices devices = fakes(1);
  DevicePipeline pipeline(devices, kSmallLane);
  std::vector<std::size_t> left;
  for (const DeviceTask& t : pipeline.run(memory.tasks, memory)) left.push_back(t.id);
  EXPECT_THAT(left, ElementsAre(2, 3, 6, 7));
  for (const std::size_t id : left) memory.on_cpu(id);
  memory.check();
}

/// One thread keeps three lanes busy: while it waits for one, two others have all of their work queued.
TEST(WeightsPipeline, KeepsThreeLanesBusyFromOneThread) {
  MemoryWork memory;
  for (int i = 0; i < 12; ++i) memory.add(test::conversion<Fp32, Fp16>(), kSmallLane / 4);
  const Devices devices = fakes(1);
  DevicePipeline pipeline(devices, kSmallLane);
  tbb::task_arena one(1);
  one.execute([&] { pipeline.run(memory.tasks, memory); });
  memory.check();
  std::set<std::size_t> queued;
  int waits = 0;
  for (const FakeDevice::Event& e : fake(devices).events()) {
    if (e.call == Call::download) queued.insert(e.lane);
    if (e.call != Call::wait) continue;
    ++waits;
    EXPECT_EQ(queued.size(), std::min<std::size_t>(DevicePipeline::kLanes, static_cast<std::size_t>(13 - waits)));
    queued.erase(e.lane);
  }
  EXPECT_EQ(waits, 12);
  EXPECT_EQ(fake(devices).lanes_ever(), DevicePipeline::kLanes);
}

TEST(WeightsPipeline, DeviceMemoryIsBoundedAndUsedAgain) {
  MemoryWork memory;
  for (int i = 0; i < 60; ++i) memory.add(test::conversion<Fp32, Bf16>(), kSmallLane / 4);
  const Devices devices = fakes(1);
  {
    DevicePipeline pipeline(devices, kSmallLane);
    tbb::task_arena many(16);
    many.execute([&] { pipeline.run(std::span(memory.tasks).first(30), memory); });
    many.execute([&] { pipeline.run(std::span(memory.tasks).subspan(30), memory); });
    EXPECT_LE(fake(devices).lanes_ever(), DevicePipeline::kWorkers * DevicePipeline::kLanes);
  }
  EXPECT_EQ(fake(devices).lanes_open(), 0U);
  memory.check();
}

/// Whatever call fails, and whenever: what the device has done is right, the rest is left, and the CPU makes it whole.
TEST(WeightsPipeline, AnyFaultAtAnyCallLeavesTheRestToTheCpu) {
  for (const Call call : {Call::open, Call::upload, Call::cast, Call::download, Call::wait}) {
    for (const int n : {1, 2, 3, 7, 20}) {
      for (const bool for_good : {true, false}) {
        MemoryWork memory;
        fill(memory, kSmallLane);
        Devices devices = fakes(1);
        FakeDevice& device = fake(devices);
        device.fail(call, n, for_good);
        CastRouter router(
            CastOn::cuda, [&] { return std::move(devices); }, {}, kSmallLane);
        router.run(memory.tasks, memory);
        memory.check();
        const bool failed = !router.faults().empty();
        // A lane is opened once, and twelve of them at most.
        EXPECT_TRUE(failed || (call == Call::open && n > 3)) << static_cast<int>(call) << " " << n;
        if (!failed) continue;
        EXPECT_THAT(router.faults(), ElementsAre("fake: told to fail"));
        EXPECT_TRUE(call != Call::open || n != 1 || !for_good || memory.on_device == 0);
      }
    }
  }
}

TEST(WeightsPipeline, AFailedDeviceLeavesTheRestAndOpensNothing) {
  MemoryWork memory;
  fill(memory, kSmallLane);
  Devices devices = fakes(1);
  fake(devices).fail(Call::wait, 4);
  DevicePipeline pipeline(devices, kSmallLane);
  const auto left = pipeline.run(memory.tasks, memory);
  EXPECT_FALSE(left.empty());
  EXPECT_EQ(left.size() + static_cast<std::size_t>(memory.on_device), memory.tasks.size());
  EXPECT_FALSE(pipeline.alive());
  EXPECT_EQ(fake(devices).lanes_open(), 0U);
}

TEST(WeightsPipeline, OneOfTwoDevicesMayFail) {
  MemoryWork memory;
  for (int i = 0; i < 40; ++i) memory.add(test::conversion<Fp32, Fp16>(), 5000);
  Devices devices = fakes(2);
  fake(devices, 0).title = "first";
  fake(devices, 1).title = "second";
  fake(devices, 1).fail(Call::cast, 1);
  DevicePipeline pipeline(devices, kSmallLane);
  tbb::task_arena two(2);
  std::vector<DeviceTask> left;
  two.execute([&] { left = pipeline.run(memory.tasks, memory); });
  for (const DeviceTask& t : left) memory.on_cpu(t.id);
  memory.check();
  EXPECT_TRUE(pipeline.alive());
  EXPECT_GT(memory.on_device, 0);
}

TEST(WeightsPipeline, AWriteThatFailsEndsTheRun) {
  MemoryWork memory;
  fill(memory, kSmallLane);
  memory.broken_store = 5;
  const Devices devices = fakes(1);
  DevicePipeline pipeline(devices, kSmallLane);
  EXPECT_THROW(pipeline.run(memory.tasks, memory), std::runtime_error);
  EXPECT_TRUE(pipeline.alive());
}

// --- who casts -------------------------------------------------------------------------------------------------------

/// Tasks without bytes; time passes as they are done.
class Timed final : public CastWork {
 public:
  Timed(double cpu_rate, double device_rate) : cpu_rate_(cpu_rate), device_rate_(device_rate) {}
  void add(std::size_t bytes) {
    for (; bytes != 0; bytes -= std::min(bytes, kBytes)) {
      tasks.push_back({tasks.size(), test::conversion<Fp32, Fp16>(), std::min(bytes, kBytes) / 4});
    }
  }
  void load(std::size_t, std::span<std::byte>) override {}
  void store(std::size_t id, std::span<const std::byte>, const Stats&) override {
    spend(id, device_rate_, device_bytes);
  }
  void on_cpu(std::size_t id) override { spend(id, cpu_rate_, cpu_bytes); }
  double now() {
    const std::scoped_lock lock(mutex_);
    return seconds;
  }

  static constexpr std::size_t kBytes = DevicePipeline::kLaneBytes;
  std::vector<DeviceTask> tasks;
  double seconds = 0;
  std::size_t cpu_bytes = 0, device_bytes = 0;

 private:
  void spend(std::size_t id, double rate, std::size_t& bytes) {
    const std::scoped_lock lock(mutex_);
    bytes += tasks[id].source_bytes();
    seconds += static_cast<double>(tasks[id].source_bytes()) / rate;
  }
  double cpu_rate_, device_rate_;
  std::mutex mutex_;
};

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Trial {
  explicit Trial(CastOn on, double cpu_rate, double device_rate, bool has_device = true)
      : work(cpu_rate, device_rate),
        router(
            on,
            [this, has_device] {
              ++opened;
              if (!has_device) throw DeviceError("there is none");
              Devices devices = fakes(1);
              fake(devices).works = false;
              fake(devices).title = "H0";
              return devices;
            },
            [this] { return work.now(); }) {}
  void run(std::size_t bytes) {
    work.tasks.clear();
    work.add(bytes);
    router.run(work.tasks, work);
  }
  int opened = 0;
  Timed work;
  CastRouter router;
};

TEST(WeightsRouter, TheCpuAsksForNoDevice) {
  Trial t(CastOn::cpu, 1e9, 1e12);
  t.run(4096 * kMiB);
  EXPECT_EQ(t.opened, 0);
  EXPECT_FALSE(t.router.may_use_devices());
  EXPECT_EQ(t.work.device_bytes, 0U);
  EXPECT_THAT(t.router.measured(), IsEmpty());
}

TEST(WeightsRouter, NothingToCastAsksForNoDevice) {
  Trial t(CastOn::cuda, 1e9, 1e12);
  t.run(0);
  EXPECT_EQ(t.opened, 0);
  EXPECT_THAT(t.router.measured(), IsEmpty());
}

TEST(WeightsRouter, CudaCastsAllThere) {
  Trial t(CastOn::cuda, 1e9, 1e6);
  t.run(64 * kMiB);
  EXPECT_EQ(t.work.device_bytes, 64 * kMiB);
  EXPECT_EQ(t.work.cpu_bytes, 0U);
  EXPECT_THAT(t.router.measured(), HasSubstr("--cast-device cuda: H0 67.1 MB at"));
}

TEST(WeightsRouter, WithoutADeviceTheCpuDoesItAndSaysWhyOnce) {
  Trial t(CastOn::cuda, 1e9, 1e12, false);
  t.run(64 * kMiB);
  t.run(64 * kMiB);
  EXPECT_EQ(t.opened, 1);
  EXPECT_EQ(t.work.cpu_bytes, 128 * kMiB);
  EXPECT_THAT(t.router.faults(), ElementsAre("there is none"));
}

TEST(WeightsRouter, AutoTriesNoDeviceForWhatTheCpuDoesSooner) {
  Trial t(CastOn::automatic, 4e9, 1e12);
  t.run(3072 * kMiB);  // 0.74 s after the trial
  EXPECT_EQ(t.opened, 0);
  EXPECT_EQ(t.work.cpu_bytes, 3072 * kMiB);
  t.run(0);  // changes nothing in what is told
  EXPECT_THAT(t.router.measured(), HasSubstr("; 0.74 s of casting left, too little for a device to be started"));
}

TEST(WeightsRouter, AutoTakesTheFasterOne) {
  {
    Trial t(CastOn::automatic, 1e9, 2e9);
    t.run(4096 * kMiB);
    EXPECT_EQ(t.work.cpu_bytes, CastRouter::kTrialBytes);
    EXPECT_EQ(t.work.device_bytes, 4096 * kMiB - CastRouter::kTrialBytes);
    EXPECT_THAT(t.router.measured(), HasSubstr("H0 4026.5 MB at 2.0 GB/s, 0.00 s to start; CPU 268.4 MB at 1.0 GB/s; "
                                               "the device is faster"));
    t.run(64 * kMiB);  // and stays with it
    EXPECT_EQ(t.work.cpu_bytes, CastRouter::kTrialBytes);
  }
  {
    Trial t(CastOn::automatic, 1e9, 0.9e9);
    t.run(4096 * kMiB);
    EXPECT_EQ(t.work.device_bytes, CastRouter::kTrialBytes);
    EXPECT_EQ(t.work.cpu_bytes, 4096 * kMiB - CastRouter::kTrialBytes);
    EXPECT_THAT(t.router.measured(), HasSubstr("the CPU is faster"));
    EXPECT_THAT(t.router.faults(), IsEmpty());
    t.run(64 * kMiB);
    EXPECT_EQ(t.work.device_bytes, CastRouter::kTrialBytes);
  }
}

TEST(WeightsRouter, AutoWithoutADeviceSaysSoOnlyWhereItIsAsked) {
  Trial t(CastOn::automatic, 1e9, 2e9, false);
  t.run(4096 * kMiB);
  EXPECT_EQ(t.work.cpu_bytes, 4096 * kMiB);
  EXPECT_THAT(t.router.faults(), IsEmpty());
  EXPECT_THAT(t.router.measured(), HasSubstr("; there is none"));
}

/// On a machine with devices this is a test too: a build without CUDA says so, others find some or say why not.
TEST(WeightsRouter, LookingForDevicesNeverEndsTheProgram) {
  try {
    EXPECT_FALSE(cuda_devices().empty());
  } catch (const DeviceError& e) {
    EXPECT_STRNE(e.what(), "");
  }
}

}  // namespace
}  // namespace ampc::weights
