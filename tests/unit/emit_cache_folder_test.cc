// The folder of results that runs share: what comes back is what was kept, or nothing.
#include "ampc/emit/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include "ampc/emit/content_hash.h"

namespace ampc::emit {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class EmitCacheFolder : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("ampc_cache_" + std::to_string(getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  static void put(CacheFolder& folder, const std::string& name, std::string_view text) {
    folder.put(name, text.size(), [&](OutputFile& file) { file.write_at(0, bytes_of(text)); });
  }
  /// The bytes; "(nothing)" where there is no entry.
  static std::string get(CacheFolder& folder, const std::string& name) {
    const auto entry = folder.find(name);
    if (!entry) return "(nothing)";
    return {reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size()};
  }
  fs::path file(const std::string& name) const { return root_ / "v1" / name; }
  /// Last used so many seconds ago.
  void age(const std::string& name, long seconds) const {
    const timespec then = {time(nullptr) - seconds, 0};
    const std::array<timespec, 2> times = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, file(name).c_str(), times.data(), 0), 0);
  }

  fs::path root_;
};

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;

TEST_F(EmitCacheFolder, GivesBackWhatWasKept) {
  CacheFolder folder((root_ / "made" / "on the way").string(), kNoLimit);
  EXPECT_EQ(get(folder, "a"), "(nothing)");
  put(folder, "a", "first");
  put(folder, "b", "");
  put(folder, "a", "second");
  EXPECT_EQ(get(folder, "a"), "second");
  EXPECT_EQ(get(folder, "b"), "");
  EXPECT_EQ(folder.damaged(), 0U);
}

TEST_F(EmitCacheFolder, DamagedEntriesAreRemoved) {
  CacheFolder folder(root_.string(), kNoLimit);
  const std::string text(5000, 'x');
  std::uint64_t damaged = 0;
  const auto expect_nothing = [&](const char* what) {
    EXPECT_EQ(get(folder, "a"), "(nothing)") << what;
    EXPECT_FALSE(fs::exists(file("a"))) << what;
    EXPECT_EQ(folder.damaged(), ++damaged) << what;
  };
  for (const std::uintmax_t size :
       {std::uintmax_t{0}, std::uintmax_t{10}, std::uintmax_t{4000}, std::uintmax_t{5047}}) {
    put(folder, "a", text);
    fs::resize_file(file("a"), size);
    expect_nothing("cut short");
  }
  put(folder, "a", text);
  fs::resize_file(file("a"), 5049);
  expect_nothing("longer");
  for (const std::streamoff at : {0, 2500, 4999, 5000, 5010, 5047}) {
    put(folder, "a", text);
    std::fstream(file("a"), std::ios::in | std::ios::out | std::ios::binary).seekp(at).put('\1');
    expect_nothing("one byte is another");
  }
  put(folder, "b", text);
  fs::rename(file("b"), file("a"));
  expect_nothing("kept under another name");
  put(folder, "a", text);
  EXPECT_EQ(get(folder, "a"), text);
}

TEST_F(EmitCacheFolder, WhatWasUsedLongestAgoGoes) {
  CacheFolder folder(root_.string(), std::uint64_t{3} * 1048);
  for (const char* name : {"a", "b", "c", "d"}) put(folder, name, std::string(1000, 'x'));
  age("a", 400);
  age("b", 300);
  age("c", 200);
  age("d", 100);
  EXPECT_NE(get(folder, "a"), "(nothing)");  // which uses it
  folder.trim();
  EXPECT_TRUE(fs::exists(file("a")));
  EXPECT_FALSE(fs::exists(file("b")));
  EXPECT_TRUE(fs::exists(file("c")));
  EXPECT_TRUE(fs::exists(file("d")));
  folder.trim();
  EXPECT_TRUE(fs::exists(file("c")));
}

TEST_F(EmitCacheFolder, WhatIsInUseOutlivesItsRemoval) {
  CacheFolder folder(root_.string(), 0);
  put(folder, "a", "still here");
  const auto entry = folder.find("a");
  ASSERT_TRUE(entry);
  folder.trim();
  EXPECT_FALSE(fs::exists(file("a")));
  EXPECT_TRUE(std::ranges::equal(entry->bytes, bytes_of("still here")));
}

TEST_F(EmitCacheFolder, TrimRemovesWhatKilledRunsLeft) {
  CacheFolder folder(root_.string(), kNoLimit);
  put(folder, "a", "kept");
  std::ofstream(file(".a.7f-0123456789abcdef.tmp")) << "left behind";
  std::ofstream(file(".hidden")) << "of somebody else";
  folder.trim();
  EXPECT_FALSE(fs::exists(file(".a.7f-0123456789abcdef.tmp")));
  EXPECT_TRUE(fs::exists(file(".hidden")));
  EXPECT_EQ(get(folder, "a"), "kept");
}

TEST_F(EmitCacheFolder, ManyAtOnce) {
  const std::string text(20'000, 'y');
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      CacheFolder folder(root_.string(), 3 * text.size());
      for (int i = 0; i < 60; ++i) {
        const std::string name = "n" + std::to_string(i % 5);
        put(folder, name, text);
        const std::string got = get(folder, name);
        if (got != text && got != "(nothing)") ++wrong;
        if (i % 7 == 0) folder.trim();
        if (folder.damaged() != 0) ++wrong;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(EmitCacheFolder, AFileIsNoFolder) {
  std::ofstream{root_} << "a file";
  EXPECT_THROW(CacheFolder(root_.string(), kNoLimit), IoError);
}

TEST(EmitContentHash, KnowsBytesAndNotThreads) {
  std::vector<std::byte> bytes((std::size_t{5} << 20) + 3);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 2654435761U >> 24U);
  const std::string hash = content_hash(bytes);
  EXPECT_EQ(hash.size(), 32U);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  {
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_EQ(content_hash(bytes), hash);
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{1} << 20, bytes.size() - 1}) {
    bytes[at] ^= std::byte{1};
    EXPECT_NE(content_hash(bytes), hash);
    bytes[at] ^= std::byte{1};
  }
  EXPECT_NE(content_hash(std::span(bytes).first(bytes.size() - 1)), hash);
  EXPECT_EQ(content_hash({}).size(), 32U);
}

}  // namespace
}  // namespace ampc::emit
