#include "ampc/build/schedule.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>

#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

namespace ampc::build {
namespace {

class Queue {
 public:
  Queue(const std::vector<std::size_t>& order, const std::vector<std::uint64_t>& needs, std::uint64_t memory)
      : waiting_(order.begin(), order.end()), needs_(needs), free_(memory) {}

  /// The first job that fits in; nothing where none is left.
  std::optional<std::size_t> take() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (waiting_.empty() || stopped_) return std::nullopt;
      const auto fits = [&](std::size_t job) { return running_ == 0 || needs_[job] <= free_; };
      const auto at = std::find_if(waiting_.begin(), waiting_.end(), fits);
      if (at != waiting_.end()) {
        const std::size_t job = *at;
        waiting_.erase(at);
        ++running_;
        free_ -= std::min(free_, needs_[job]);
        taken_.push_back(job);
        return job;
      }
      ended_.wait(lock);  // one that runs will end
    }
  }

  void done(std::size_t job, std::uint64_t memory, bool go_on) {
    const std::lock_guard lock(mutex_);
    taken_.remove(job);
    --running_;
    std::uint64_t used = 0;
    for (const std::size_t other : taken_) used += needs_[other];
    free_ = memory - std::min(memory, used);
    stopped_ = stopped_ || !go_on;
    ended_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<std::size_t> waiting_;
  std::list<std::size_t> taken_;
  const std::vector<std::uint64_t>& needs_;
  std::uint64_t free_;
  std::size_t running_ = 0;
  bool stopped_ = false;
};

}  // namespace

void run_all(const std::vector<std::size_t>& order, const std::vector<std::uint64_t>& needs, int workers,
             std::uint64_t memory, const std::function<bool(std::size_t)>& run) {
  Queue queue(order, needs, memory);
  tbb::parallel_for(
      0, workers, 1,
      [&](int /*worker*/) {
        while (const auto job = queue.take()) {
          bool go_on = false;
          // A thread that waits for its job's tasks must not begin another job meanwhile.
          tbb::this_task_arena::isolate([&] { go_on = run(*job); });
          queue.done(*job, memory, go_on);
        }
      },
      tbb::simple_partitioner());
}

}  // namespace ampc::build
