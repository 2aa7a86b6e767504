// Casts many ranges on devices: reading, upload, cast, download and writing of different ranges run at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ampc/weights/device.h"

namespace ampc::weights {

/// A range of elements to cast in one go.
struct DeviceTask {
  std::size_t id = 0;  // the caller's
  Conversion conversion;
  std::size_t count = 0;

  std::size_t source_bytes() const { return count * byte_size(conversion.from); }
  std::size_t target_bytes() const { return count * byte_size(conversion.to); }
};

/// Where the pipeline has its bytes from and brings them to. Both are called from several threads, `store` once for
/// every task that a device has done. What they throw ends the run and goes to whoever called it.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  virtual void load(std::size_t id, std::span<std::byte> source) = 0;
  /// `stats` is what Caster::measure would give of the source; zeroes for a cast to fp32.
  virtual void store(std::size_t id, std::span<const std::byte> result, const Stats& stats) = 0;
};

/// Works of one pipeline share its lanes, which are opened as they are first needed: on every device up to kWorkers
/// times kLanes of them, each with two buffers of `lane_bytes` on the device and two on the host.
class DevicePipeline {
 public:
  static constexpr std::size_t kLaneBytes = std::size_t{4} << 20;  // long enough to outlast the calls that it takes
  static constexpr std::size_t kLanes = 3;                         // that one thread keeps busy
  static constexpr std::size_t kWorkers = 4;                       // threads of a device, where there are so many

  /// Devices stay the caller's.
  explicit DevicePipeline(std::span<const std::unique_ptr<Device>> devices, std::size_t lane_bytes = kLaneBytes);
  ~DevicePipeline();
  DevicePipeline(const DevicePipeline&) = delete;
  DevicePipeline& operator=(const DevicePipeline&) = delete;

  /// Casts on as many threads as oneTBB gives. A device that fails is not used again. Gives the tasks that no device
  /// has done, in their order: what a failed one had not finished, and what no lane holds.
  std::vector<DeviceTask> run(std::span<const DeviceTask> tasks, DeviceWork& work);

  /// Whether some device has not failed yet.
  bool alive() const;
  /// "NVIDIA H200: casting: an illegal memory access was encountered", one for each device that failed.
  std::vector<std::string> faults() const;

 private:
  struct Seat;  // what one worker has: a device and lanes on it
  struct Run;   // what the workers of a run share
  void serve(Seat& seat, Run& run);
  void fail(std::size_t device, const std::string& why);

  struct State {
    Device* device = nullptr;
    std::atomic<bool> failed{false};
    std::string fault;  // under `mutex_`
  };
  std::size_t lane_bytes_;
  std::vector<State> states_;
  std::vector<std::unique_ptr<Seat>> seats_;
  mutable std::mutex mutex_;
};

}  // namespace ampc::weights
