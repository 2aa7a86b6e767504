// Who casts: the CPU, or devices with the CPU behind them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ampc/weights/cast_on.h"
#include "ampc/weights/device.h"
#include "ampc/weights/device_pipeline.h"

namespace ampc::weights {

/// A DeviceWork that the CPU can do as well.
class CastWork : public DeviceWork {
 public:
  /// Does the whole of a task, from reading to writing. Called from several threads.
  virtual void on_cpu(std::size_t id) = 0;
};

/// Casts on devices where it was told to, or where `automatic` finds them faster, and on the CPU what no device has
/// done. The bytes are the same. Devices are looked for once, when they are first needed, and never with `cpu`.
class CastRouter {
 public:
  /// `automatic` measures on so many bytes of sources, first the CPU, then the devices.
  static constexpr std::size_t kTrialBytes = std::size_t{256} << 20;
  /// Seconds that the CPU would have to go on for, for a device to be looked for: starting one takes 0.2 to 0.5, and a
  /// device that is twice as fast saves half.
  static constexpr double kWorthTrying = 1.0;

  using Open = std::function<std::vector<std::unique_ptr<Device>>()>;
  using Clock = std::function<double()>;  // seconds
  explicit CastRouter(CastOn on, Open open = cuda_devices, Clock now = {},
                      std::size_t lane_bytes = DevicePipeline::kLaneBytes);

  /// Whether tasks may go to a device: only then it pays to make them such as a device takes.
  bool may_use_devices() const { return on_ != CastOn::cpu; }
  /// Casts all of them. What `work` throws comes through.
  void run(std::span<const DeviceTask> tasks, CastWork& work);

  /// Why the CPU had to do what was meant for devices; empty where it had not.
  const std::vector<std::string>& faults() const { return faults_; }
  /// What was measured, and what came of it; empty with `cpu` and where nothing was cast.
  std::string measured() const;

 private:
  void on_cpu(std::span<const DeviceTask> tasks, CastWork& work);
  void on_devices(std::span<const DeviceTask> tasks, CastWork& work);
  void by_measurement(std::span<const DeviceTask> tasks, CastWork& work);
  bool start();
  void fault(std::string text);

  CastOn on_;
  Open open_;
  Clock now_;
  std::size_t lane_bytes_;
  bool started_ = false;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<DevicePipeline> pipeline_;  // there is one where there is a device
  std::vector<std::string> faults_;
  std::size_t faults_told_ = 0;  // of the pipeline's

  struct Rate {
    double bytes = 0;
    double seconds = 0;
    double per_second() const { return seconds > 0 ? bytes / seconds : 0; }
  };
  Rate cpu_rate_;
  Rate device_rate_;
  double start_seconds_ = 0;
  std::optional<bool> chose_devices_;  // by measurement
  std::string why_;                    // where that was settled without a trial of both
};

}  // namespace ampc::weights
