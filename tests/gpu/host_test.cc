// weights/cuda/cuda_device.cc itself, on a runtime that is played on the host: every one of its calls may fail.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include "ampc/weights/cast_router.h"
#include "fake_cuda/fake_cuda.h"
#include "memory_work.h"

namespace ampc::weights {
namespace {

using fake_cuda::Machine;
using test::MemoryWork;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kSmallLane = std::size_t{1} << 14;

/// All conversions, by way of the devices; gives what the router has to say.
std::vector<std::string> cast_all(const Machine& machine, MemoryWork& memory, std::size_t lane_bytes = kSmallLane) {
  fake_cuda::reset(machine);
  test::fill(memory, kSmallLane);
  std::vector<std::string> faults;
  {
    CastRouter router(CastOn::cuda, cuda_devices, {}, lane_bytes);
    router.run(memory.tasks, memory);
    faults = router.faults();
  }
  memory.check();
  EXPECT_EQ(fake_cuda::misuse(), "");
  EXPECT_EQ(fake_cuda::held(), 0U);
  return faults;
}

TEST(CudaHost, CastsOnOneDeviceAndOnSeveral) {
  for (const int devices : {1, 3}) {
    MemoryWork memory;
    EXPECT_THAT(cast_all({.devices = devices}, memory), IsEmpty());
    EXPECT_EQ(memory.on_device, static_cast<int>(memory.tasks.size()));
  }
}

TEST(CudaHost, CountsAsTheCpuDoes) {
  fake_cuda::reset({});
  MemoryWork memory;
  test::fill(memory, kSmallLane);
  {
    const auto devices = cuda_devices();
    DevicePipeline pipeline(devices, kSmallLane);
    for (int again = 0; again < 2; ++again) {  // the counters begin at zero each time
      EXPECT_THAT(pipeline.run(memory.tasks, memory), IsEmpty());
    }
  }
  EXPECT_EQ(fake_cuda::held(), 0U);
}

/// Call after call: whichever fails, for good or once, the bytes are right, nothing is leaked, and one note says what
/// it was.
TEST(CudaHost, EveryCallMayFail) {
  tbb::task_arena one(1);  // so that the calls come in one order
  one.execute([] {
    int failures = 0;
    for (const bool for_good : {true, false}) {
      for (int n = 1;; ++n) {
        MemoryWork memory;
        const auto faults = cast_all({.fail_at = n, .for_good = for_good}, memory);
        const std::string call = fake_cuda::failed_call();
        if (call.empty()) break;
        SCOPED_TRACE(call + ", call " + std::to_string(n));
        ++failures;
        // What frees at the end has no one to tell.
        if (memory.on_device < static_cast<int>(memory.tasks.size())) {
          EXPECT_THAT(faults, SizeIs(1));
        }
        ASSERT_LT(n, 5000);
      }
    }
    EXPECT_GT(failures, 400);
  });
}

TEST(CudaHost, NoDriverNoDeviceNoCode) {
  MemoryWork driver;
  EXPECT_THAT(cast_all({.driver = cudaErrorInsufficientDriver}, driver),
              ElementsAre("looking for CUDA devices: CUDA driver version is insufficient for CUDA runtime version"));
  MemoryWork none;
  EXPECT_THAT(cast_all({.devices = 0}, none), ElementsAre("looking for CUDA devices: there is none"));
  MemoryWork code;
  EXPECT_THAT(cast_all({.codeless = 1}, code), ElementsAre(HasSubstr("looking for CUDA devices: played 0: ")));
  EXPECT_EQ(driver.on_device + none.on_device + code.on_device, 0);
}

/// What is wrong with one device is not held against the next.
TEST(CudaHost, ADeviceWithoutCodeIsLeftOut) {
  MemoryWork memory;
  EXPECT_THAT(cast_all({.devices = 2, .codeless = 1}, memory), IsEmpty());
  EXPECT_EQ(memory.on_device, static_cast<int>(memory.tasks.size()));
}

/// Threads go from one device to another.
TEST(CudaHost, EveryCallIsForItsOwnDevice) {
  fake_cuda::reset({.devices = 2});
  {
    const auto devices = cuda_devices();
    std::vector<std::unique_ptr<Lane>> lanes;
    lanes.reserve(devices.size());
    for (const auto& device : devices) lanes.push_back(device->open(64, 64));
    for (const auto& lane : lanes) lane->upload(64);
    for (const auto& lane : lanes) lane->cast(test::conversion<Fp32, Fp16>(), 0, 0, 16);
    for (const auto& lane : lanes) lane->download(32);
    for (const auto& lane : lanes) EXPECT_EQ(lane->wait().at(0).count, 16U);
    for (const auto& lane : lanes) lane->download(32);
    for (const auto& lane : lanes) EXPECT_THAT(lane->wait(), IsEmpty());
    for (const auto& lane : lanes) lane->upload(64);  // under way when the lane goes
  }
  EXPECT_EQ(fake_cuda::misuse(), "");
  EXPECT_EQ(fake_cuda::held(), 0U);
}

TEST(CudaHost, TooLittleMemory) {
  for (const std::size_t lanes : {0U, 1U, 2U}) {
    MemoryWork memory;
    const std::size_t for_a_lane = 2 * (kSmallLane + 16) + 4096;
    EXPECT_THAT(cast_all({.memory = lanes * for_a_lane + 100}, memory),
                ElementsAre("played 0: allocating device memory: out of memory"));
  }
}

TEST(CudaHost, MemoryOfADeviceIsBounded) {
  MemoryWork memory;
  EXPECT_THAT(cast_all({}, memory), IsEmpty());
  EXPECT_LE(fake_cuda::most_on_a_device(),
            DevicePipeline::kWorkers * DevicePipeline::kLanes * (2 * (kSmallLane + 16) + 4096));
}

}  // namespace
}  // namespace ampc::weights
