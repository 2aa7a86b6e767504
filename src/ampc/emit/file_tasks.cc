#include "ampc/emit/file_tasks.h"

#include <algorithm>
#include <atomic>

#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace ampc::emit {

void run_in_order(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  tbb::parallel_for(
      std::size_t{0}, std::min(threads, count),
      [&](std::size_t /*thread*/) {
        for (std::size_t i = next++; i < count && !tbb::is_current_task_group_canceling(); i = next++) task(i);
      },
      tbb::simple_partitioner());
}

}  // namespace ampc::emit
