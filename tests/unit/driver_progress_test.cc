#include "ampc/driver/progress.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ampc::driver {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using Unit = ProgressState::Unit;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(DriverProgressLine, Bytes) {
  EXPECT_EQ(progress_line({"casting", 512 * kMiB, 1024 * kMiB, Unit::bytes, 2.0}, 69),
            "casting [=========>         ]  50%  512.0 MiB of 1.0 GiB  256.0 MiB/s");
}

TEST(DriverProgressLine, Nodes) {
  EXPECT_EQ(progress_line({"deciding", 250, 1000, Unit::nodes, 0.5}, 72),
            "deciding [=======>                      ]  25%  250 of 1000 nodes  500/s");
}

TEST(DriverProgressLine, BeginningAndEnd) {
  EXPECT_THAT(progress_line({"casting", 0, 100, Unit::bytes, 0}, 80), HasSubstr("[>   "));
  const std::string end = progress_line({"casting", 100, 100, Unit::bytes, 1}, 80);
  EXPECT_THAT(end, HasSubstr("=] 100%  100 B of 100 B"));
  EXPECT_THAT(end, Not(HasSubstr(">")));
  EXPECT_THAT(progress_line({"casting", 150, 100, Unit::bytes, 1}, 80), HasSubstr("=] 100%")) << "never above";
}

TEST(DriverProgressLine, UnknownTotal) {
  EXPECT_EQ(progress_line({"reading", 3 * kMiB, 0, Unit::bytes, 1.5}, 80), "reading  3.0 MiB  2.0 MiB/s");
}

TEST(DriverProgressLine, NeverWiderThanTheTerminal) {
  for (std::size_t width = 0; width < 200; ++width) {
    EXPECT_LE(progress_line({"casting weights", 3 * kMiB, 9 * kMiB, Unit::bytes, 1.5}, width).size(), width);
  }
  EXPECT_THAT(progress_line({"casting", 1, 2, Unit::bytes, 1}, 40), Not(HasSubstr("["))) << "no room for a bar";
}

TEST(DriverProgressLine, LabelsInUtf8) {
  EXPECT_EQ(progress_line({"模型", 1, 0, Unit::nodes, 0}, 80), "模型  1 nodes");
  EXPECT_EQ(progress_line({"模型", 1, 0, Unit::nodes, 0}, 1), "模");
  EXPECT_EQ(progress_line({"a模型", 1, 0, Unit::nodes, 0}, 2), "a模");
  const std::string ascii = progress_line({"ab", 1, 2, Unit::nodes, 1}, 60);
  const std::string wide = progress_line({"模型", 1, 2, Unit::nodes, 1}, 60);
  EXPECT_EQ(wide.size(), ascii.size() + 4) << "the bar is as long";
}

TEST(DriverProgressLine, LabelsWithControlCharacters) {
  EXPECT_EQ(progress_line({"a\x1b[2J\nb", 1, 0, Unit::nodes, 0}, 80), "a?[2J?b  1 nodes");
}

TEST(DriverProgressLine, UnitsDoNotReach1024) {
  EXPECT_THAT(progress_line({"x", kMiB - 1, 0, Unit::bytes, 0}, 80), EndsWith("1.0 MiB"));
  EXPECT_THAT(progress_line({"x", 1023, 0, Unit::bytes, 0}, 80), EndsWith("1023 B"));
}

class DriverProgress : public ::testing::Test {
 protected:
  Progress::Clock clock() {
    return [this] { return std::chrono::steady_clock::time_point(std::chrono::milliseconds(now_.load())); };
  }
  /// What has been written since the last call.
  std::string written() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  std::atomic<int> now_{5000};
  std::ostringstream out_;
};

TEST_F(DriverProgress, ShortWorkShowsNothing) {
  {
    Progress progress(out_, clock(), 80);
    progress.begin("casting", 100, Unit::bytes);
    for (int i = 0; i < 99; ++i) {
      now_ += 10;
      progress.add(1);
    }
  }
  EXPECT_EQ(written(), "");
}

TEST_F(DriverProgress, DrawsFromTheFirstSecondOnAndCleansUp) {
  {
    Progress progress(out_, clock(), 80);
    progress.begin("casting", 100, Unit::bytes);
    now_ += 1000;
    progress.add(50);
    EXPECT_THAT(written(), HasSubstr("casting ["));
    now_ += 50;
    progress.add(1);
    EXPECT_EQ(written(), "") << "too soon after the last drawing";
    now_ += 50;
    progress.add(1);
    EXPECT_THAT(written(), HasSubstr(" 52%"));
  }
  EXPECT_EQ(written(), "\r\x1b[K");
}

TEST_F(DriverProgress, EachStageCountsFromZero) {
  Progress progress(out_, clock(), 80);
  progress.begin("first", 10, Unit::nodes);
  progress.add(10);
  now_ += 2000;
  progress.begin("second", 1000, Unit::nodes);
  progress.add(10);
  const std::string text = written();
  EXPECT_THAT(text, HasSubstr("second"));
  EXPECT_THAT(text, HasSubstr("  1%  10 of 1000 nodes"));
}

TEST_F(DriverProgress, ClearMakesRoomOnce) {
  Progress progress(out_, clock(), 80);
  progress.begin("casting", 100, Unit::bytes);
  now_ += 2000;
  progress.add(1);
  written();
  progress.clear();
  EXPECT_EQ(written(), "\r\x1b[K");
  progress.clear();
  EXPECT_EQ(written(), "");
  progress.add(1);
  EXPECT_THAT(written(), HasSubstr("casting")) << "drawn again";
}

TEST_F(DriverProgress, CountsFromManyThreads) {
  Progress progress(out_, clock(), 80);
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kEach = 20'000;
  progress.begin("casting", kThreads * kEach + 1, Unit::nodes);
  now_ += 2000;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&progress] {
      for (std::uint64_t n = 0; n < kEach; ++n) progress.add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  written();
  now_ += 1000;
  progress.add(1);
  EXPECT_THAT(written(), HasSubstr("100%  80001 of 80001 nodes"));
}

TEST(DriverProgressTerminal, NotATerminalShowsNothing) {
  // A captured stderr is a file.
  ::testing::internal::CaptureStderr();
  {
    Progress progress;
    progress.begin("casting", 1, Unit::bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(1050));
    progress.add(1);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ampc::driver
