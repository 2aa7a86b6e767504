#include "ampc/weights/device_pipeline.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace ampc::weights {
namespace {

/// Between tasks in one buffer: what one wide access of a device takes.
constexpr std::size_t kApart = 16;

std::size_t apart(std::size_t bytes) { return (bytes + kApart - 1) / kApart * kApart; }

/// Tasks that go to the device together.
struct Batch {
  std::size_t first = 0, last = 0;
};

/// Consecutive tasks, as many as one lane holds; one that none holds is in no batch.
std::vector<Batch> batches_of(std::span<const DeviceTask> tasks, std::size_t lane_bytes) {
  const auto fits = [&](const DeviceTask& task) {
    return task.count != 0 && task.source_bytes() <= lane_bytes && task.target_bytes() <= lane_bytes;
  };
  std::vector<Batch> batches;
  std::size_t source = 0;
  std::size_t target = 0;
  bool open = false;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!fits(tasks[i])) {
      open = false;
      continue;
    }
    const std::size_t from = apart(tasks[i].source_bytes());
    const std::size_t to = apart(tasks[i].target_bytes());
    const bool full = open && i - batches.back().first == Lane::kMostCasts;
    if (!open || full || source + from > lane_bytes || target + to > lane_bytes) {
      batches.push_back({i, i});
      source = target = 0;
      open = true;
    }
    batches.back().last = i + 1;
    source += from;
    target += to;
  }
  return batches;
}

}  // namespace

struct DevicePipeline::Run {
  std::span<const DeviceTask> tasks;
  DeviceWork& work;
  std::vector<Batch> batches;
  std::atomic<std::size_t> next{0};
  std::vector<char> done;  // of a task; each is written by one thread

  /// The next batch, or nothing.
  const Batch* take() {
    const std::size_t i = next.fetch_add(1);
    return i < batches.size() ? &batches[i] : nullptr;
  }
  /// Nobody takes any more.
  void stop() { next = batches.size(); }
};

struct DevicePipeline::Seat {
  std::size_t device = 0;
  std::array<std::unique_ptr<Lane>, kLanes> lanes;
};

DevicePipeline::DevicePipeline(std::span<const std::unique_ptr<Device>> devices, std::size_t lane_bytes)
    : lane_bytes_(lane_bytes), states_(devices.size()) {
  for (std::size_t d = 0; d < devices.size(); ++d) states_[d].device = devices[d].get();
  for (std::size_t i = 0; i < devices.size() * kWorkers; ++i) {
    seats_.push_back(std::make_unique<Seat>());
    seats_.back()->device = i % devices.size();
  }
}

DevicePipeline::~DevicePipeline() = default;

void DevicePipeline::fail(std::size_t device, const std::string& why) {
  State& state = states_[device];
  const std::scoped_lock lock(mutex_);
  if (state.failed.exchange(true)) return;
  state.fault = state.device->name() + ": " + why;
}

bool DevicePipeline::alive() const {
  return std::any_of(states_.begin(), states_.end(), [](const State& s) { return !s.failed; });
}

std::vector<std::string> DevicePipeline::faults() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> list;
  for (const State& s : states_) {
    if (s.failed) list.push_back(s.fault);
  }
  return list;
}

void DevicePipeline::serve(Seat& seat, Run& run) {
  const State& state = states_[seat.device];
  std::array<const Batch*, kLanes> under_way{};  // what each lane has been given
  const auto start = [&](std::size_t l, const Batch& batch) {
    if (seat.lanes[l] == nullptr) {
      // Room for the space between tasks where a task fills a buffer to its end.
      seat.lanes[l] = state.device->open(lane_bytes_ + kApart, lane_bytes_ + kApart);
    }
    Lane& lane = *seat.lanes[l];
    const auto tasks = run.tasks.subspan(batch.first, batch.last - batch.first);
    std::size_t source = 0;
    for (const DeviceTask& task : tasks) {
      run.work.load(task.id, lane.source().subspan(source, task.source_bytes()));
      source += apart(task.source_bytes());
    }
    lane.upload(source);
    std::size_t target = 0;
    source = 0;
    for (const DeviceTask& task : tasks) {
      lane.cast(task.conversion, source, target, task.count);
      source += apart(task.source_bytes());
      target += apart(task.target_bytes());
    }
    lane.download(target);
    under_way[l] = &batch;
  };
  const auto finish = [&](std::size_t l) {
    if (under_way[l] == nullptr) return;
    const Batch& batch = *std::exchange(under_way[l], nullptr);
    Lane& lane = *seat.lanes[l];
    const std::vector<Stats> stats = lane.wait();
    std::size_t target = 0;
    for (std::size_t i = batch.first; i < batch.last; ++i) {
      const DeviceTask& task = run.tasks[i];
      run.work.store(task.id, lane.target().subspan(target, task.target_bytes()), stats[i - batch.first]);
      target += apart(task.target_bytes());
    }
    // Nothing that may fail comes after: a batch is done as a whole, or done again as a whole.
    for (std::size_t i = batch.first; i < batch.last; ++i) run.done[i] = 1;
  };
  try {
    std::size_t turn = 0;  // the lane that was started longest ago
    while (!state.failed) {
      const Batch* batch = run.take();
      if (batch == nullptr) break;
      finish(turn);
      start(turn, *batch);
      turn = (turn + 1) % kLanes;
    }
    for (std::size_t i = 0; i < kLanes && !state.failed; ++i) finish((turn + i) % kLanes);
  } catch (const DeviceError& e) {
    fail(seat.device, e.what());
  } catch (...) {
    run.stop();
    for (auto& lane : seat.lanes) lane.reset();  // which waits: what is under way must not outlive its buffers' use
    throw;
  }
  if (state.failed) {
    for (auto& lane : seat.lanes) lane.reset();
  }
}

std::vector<DeviceTask> DevicePipeline::run(std::span<const DeviceTask> tasks, DeviceWork& work) {
  Run run{tasks, work, batches_of(tasks, lane_bytes_), {}, std::vector<char>(tasks.size())};
  if (!run.batches.empty()) {
    const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    const std::size_t workers = std::min({seats_.size(), run.batches.size(), std::max(threads, states_.size())});
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, workers, 1),
        [&](const auto& range) {
          for (std::size_t w = range.begin(); w != range.end(); ++w) serve(*seats_[w], run);
        },
        tbb::simple_partitioner());
  }
  std::vector<DeviceTask> left;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (run.done[i] == 0) left.push_back(tasks[i]);
  }
  return left;
}

}  // namespace ampc::weights
