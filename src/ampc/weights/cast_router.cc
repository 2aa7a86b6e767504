#include "ampc/weights/cast_router.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for_each.h>

namespace ampc::weights {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double source_bytes(std::span<const DeviceTask> tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), 0.0,
                         [](double sum, const DeviceTask& t) { return sum + static_cast<double>(t.source_bytes()); });
}

/// Takes tasks of about that many bytes off the front.
std::span<const DeviceTask> take(std::span<const DeviceTask>& tasks, std::size_t bytes) {
  std::size_t n = 0;
  for (std::size_t sum = 0; n < tasks.size() && sum < bytes; ++n) sum += tasks[n].source_bytes();
  const auto front = tasks.first(n);
  tasks = tasks.subspan(n);
  return front;
}

std::string gigabytes(double bytes_per_second) { return fmt::format("{:.1f} GB/s", bytes_per_second / 1e9); }

}  // namespace

CastRouter::CastRouter(CastOn on, Open open, Clock now, std::size_t lane_bytes)
    : on_(on), open_(std::move(open)), now_(now ? std::move(now) : Clock(steady_seconds)), lane_bytes_(lane_bytes) {}

void CastRouter::run(std::span<const DeviceTask> tasks, CastWork& work) {
  if (tasks.empty()) return;
  switch (on_) {
    case CastOn::cpu:
      on_cpu(tasks, work);
      break;
    case CastOn::cuda:
      start();
      on_devices(tasks, work);
      break;
    case CastOn::automatic:
      by_measurement(tasks, work);
      break;
  }
}

void CastRouter::on_cpu(std::span<const DeviceTask> tasks, CastWork& work) {
  const double begin = now_();
  tbb::parallel_for_each(tasks.begin(), tasks.end(), [&](const DeviceTask& task) { work.on_cpu(task.id); });
  cpu_rate_.bytes += source_bytes(tasks);
  cpu_rate_.seconds += now_() - begin;
}

void CastRouter::on_devices(std::span<const DeviceTask> tasks, CastWork& work) {
  if (pipeline_ == nullptr || !pipeline_->alive()) {
    on_cpu(tasks, work);
    return;
  }
  const double begin = now_();
  const std::vector<DeviceTask> left = pipeline_->run(tasks, work);
  device_rate_.seconds += now_() - begin;
  device_rate_.bytes += source_bytes(tasks) - source_bytes(left);
  const auto list = pipeline_->faults();
  for (; faults_told_ < list.size(); ++faults_told_) faults_.push_back(list[faults_told_]);
  on_cpu(left, work);
}

bool CastRouter::start() {
  if (std::exchange(started_, true)) return pipeline_ != nullptr;
  const double begin = now_();
  try {
    devices_ = open_();
    if (!devices_.empty()) pipeline_ = std::make_unique<DevicePipeline>(devices_, lane_bytes_);
  } catch (const DeviceError& e) {
    (on_ == CastOn::cuda ? faults_.emplace_back() : why_) = e.what();
  }
  start_seconds_ = now_() - begin;
  return pipeline_ != nullptr;
}

void CastRouter::by_measurement(std::span<const DeviceTask> tasks, CastWork& work) {
  if (!chose_devices_) {
    on_cpu(take(tasks, kTrialBytes), work);
    const double left = cpu_rate_.per_second() > 0 ? source_bytes(tasks) / cpu_rate_.per_second() : 0;
    if (left < kWorthTrying) {
      why_ = fmt::format("{:.2f} s of casting left, too little for a device to be started", left);
      on_cpu(tasks, work);
      return;
    }
    if (start()) {
      on_devices(take(tasks, kTrialBytes), work);
      chose_devices_ = pipeline_->alive() && device_rate_.per_second() > cpu_rate_.per_second();
    } else {
      chose_devices_ = false;
    }
  }
  if (*chose_devices_) {
    on_devices(tasks, work);
  } else {
    on_cpu(tasks, work);
  }
}

std::string CastRouter::measured() const {
  if (on_ == CastOn::cpu || (cpu_rate_.bytes == 0 && device_rate_.bytes == 0)) return {};
  std::string text = fmt::format("--cast-device {}: ", on_ == CastOn::cuda ? "cuda" : "auto");
  if (device_rate_.bytes > 0) {
    std::string names;
    for (const auto& device : devices_) names += (names.empty() ? "" : ", ") + device->name();
    text += fmt::format("{} {:.1f} MB at {}, {:.2f} s to start; ", names, device_rate_.bytes / 1e6,
                        gigabytes(device_rate_.per_second()), start_seconds_);
  }
  text += fmt::format("CPU {:.1f} MB at {}", cpu_rate_.bytes / 1e6, gigabytes(cpu_rate_.per_second()));
  if (chose_devices_ && device_rate_.bytes > 0)
    text += *chose_devices_ ? "; the device is faster" : "; the CPU is faster";
  if (!why_.empty()) text += "; " + why_;
  return text;
}

}  // namespace ampc::weights
