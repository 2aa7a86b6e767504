#include "ampc/build/schedule.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace ampc::build {
namespace {

/// Jobs that are none: they tell which others run beside them, and end when a script lets them.
class Jobs {
 public:
  Jobs(std::vector<std::uint64_t> needs, std::uint64_t memory) : needs_(std::move(needs)), memory_(memory) {
    order_.resize(needs_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  /// With as many threads as there are workers, whatever the machine has.
  void run(int workers, const std::function<bool(std::size_t)>& script) {
    const auto threads = static_cast<std::size_t>(workers);
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, std::max<std::size_t>(2, threads));
    tbb::task_arena arena(workers);
    arena.execute([&] {
      run_all(order_, needs_, workers, memory_, [&](std::size_t job) {
        begin(job);
        const bool go_on = script(job);
        end(job);
        return go_on;
      });
    });
    EXPECT_TRUE(running_.empty());
  }

  /// Until all of these run at the same time; false where that does not come about.
  bool meet(const std::set<std::size_t>& jobs) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      // Whoever sees it first may end before the others have.
      if (!met_) met_ = std::includes(running_.begin(), running_.end(), jobs.begin(), jobs.end());
      if (met_) changed_.notify_all();
      return met_;
    });
  }

  std::vector<std::size_t> order_;
  std::vector<std::size_t> begun_;     // in this order
  std::vector<std::size_t> together_;  // by begin: how many ran then, that one with them
  std::size_t most_ = 0;               // at a time
  std::uint64_t most_bytes_ = 0;

 private:
  void begin(std::size_t job) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(running_.insert(job).second);
    begun_.push_back(job);
    together_.push_back(running_.size());
    most_ = std::max(most_, running_.size());
    std::uint64_t bytes = 0;
    for (const std::size_t j : running_) bytes += needs_[j];
    most_bytes_ = std::max(most_bytes_, bytes);
    EXPECT_TRUE(bytes <= memory_ || running_.size() == 1) << bytes << " of " << memory_;
    changed_.notify_all();
  }
  void end(std::size_t job) {
    const std::lock_guard lock(mutex_);
    running_.erase(job);
    changed_.notify_all();
  }

  std::vector<std::uint64_t> needs_;
  std::uint64_t memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::size_t> running_;
  bool met_ = false;
};

TEST(Schedule, RunsAsManyAtATimeAsThereAreWorkers) {
  Jobs jobs({1, 1, 1}, 100);
  jobs.run(3, [&](std::size_t) { return jobs.meet({0, 1, 2}); });
  EXPECT_EQ(jobs.begun_.size(), 3U);
  EXPECT_EQ(jobs.most_, 3U);
}

TEST(Schedule, KeepsTheOrderWithOneWorker) {
  Jobs jobs({5, 50, 500, 1, 7}, 10);
  std::reverse(jobs.order_.begin(), jobs.order_.end());
  jobs.run(1, [](std::size_t) { return true; });
  EXPECT_THAT(jobs.begun_, testing::ElementsAre(4, 3, 2, 1, 0));
}

TEST(Schedule, RunsWhatFitsTogether) {
  Jobs jobs({6, 4}, 10);  // to the last byte
  jobs.run(4, [&](std::size_t) { return jobs.meet({0, 1}); });
  EXPECT_EQ(jobs.most_bytes_, 10U);
}

TEST(Schedule, RunsWhatDoesNotFitOneByOne) {
  Jobs jobs({6, 5, 6, 5}, 9);
  jobs.run(4, [](std::size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return true;
  });
  EXPECT_EQ(jobs.begun_.size(), 4U);
  EXPECT_EQ(jobs.most_, 1U);
}

TEST(Schedule, RunsOneThatPassesTheBudgetAlone) {
  for (const std::uint64_t large : {std::uint64_t{11}, std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
    Jobs jobs({2, large, 2, large, 2}, 10);
    jobs.run(4, [&](std::size_t job) { return job % 2 != 0 || jobs.meet({0, 2, 4}); });
    ASSERT_EQ(jobs.begun_.size(), 5U);
    EXPECT_EQ(jobs.most_, 3U);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_TRUE(jobs.begun_[i] % 2 == 0 || jobs.together_[i] == 1);
    }
  }
}

TEST(Schedule, LetsSmallOnesPassOneThatWaits) {
  Jobs jobs({5, 8, 3}, 10);
  jobs.run(2, [&](std::size_t job) { return job == 1 || jobs.meet({0, 2}); });
  EXPECT_EQ(jobs.begun_.back(), 1U);
  EXPECT_EQ(jobs.most_bytes_, 8U);
}

TEST(Schedule, StartsNoMoreOnceOneHasSaidSo) {
  Jobs jobs({1, 1, 1, 1, 1, 1}, 1);
  jobs.run(4, [](std::size_t job) { return job != 2; });
  EXPECT_THAT(jobs.begun_, testing::ElementsAre(0, 1, 2));
}

TEST(Schedule, HoldsForAnyJobs) {
  std::mt19937 draw(9);
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<std::uint64_t> needs(60);
    for (auto& n : needs) n = draw() % 12 + 1;
    const std::uint64_t memory = draw() % 20 + 1;
    Jobs jobs(needs, memory);
    std::shuffle(jobs.order_.begin(), jobs.order_.end(), draw);
    jobs.run(6, [](std::size_t job) {
      std::this_thread::sleep_for(std::chrono::microseconds(job * 7 % 200));
      return true;
    });
    std::vector<std::size_t> done = jobs.begun_;
    std::sort(done.begin(), done.end());
    ASSERT_EQ(done.size(), needs.size());
    EXPECT_TRUE(std::adjacent_find(done.begin(), done.end()) == done.end());
  }
}

}  // namespace
}  // namespace ampc::build
