#include "ampc/emit/output_file.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ampc::emit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

void write(OutputFile& file, const std::string& text) { file.write_at(0, bytes(text)); }

void put(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string get(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

mode_t mode_of(const fs::path& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

/// Runs `work` in a child; returns what waitpid says.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 99;
    try {
      code = work();
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// The errno of the IoError that `work` throws; 0 where it throws none.
int code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const IoError& error) {
    return error.code();
  }
  return 0;
}

class EmitOutputFile : public ::testing::Test {
 public:
  EmitOutputFile() {
    std::string pattern = (fs::temp_directory_path() / "ampc-output-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~EmitOutputFile() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

 protected:
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::directory_iterator(folder_)) list.push_back(entry.path().filename().string());
    std::sort(list.begin(), list.end());
    return list;
  }

  fs::path folder_;
};

TEST_F(EmitOutputFile, AppearsAtCommitAndNotBefore) {
  const fs::path target = folder_ / "out.onnx";
  OutputFile file(target.string());
  write(file, "weights");
  EXPECT_FALSE(fs::exists(target));
  EXPECT_EQ(fs::path(file.temporary()).parent_path(), folder_);
  EXPECT_EQ(file.commit(), OutputFile::Outcome::written);
  EXPECT_EQ(get(target), "weights");
  EXPECT_EQ(names(), std::vector<std::string>{"out.onnx"});
}

TEST_F(EmitOutputFile, WithoutCommitNothingRemains) {
  const fs::path target = folder_ / "out.onnx";
  put(target, "old");
  {
    OutputFile file(target.string());
    write(file, "new and longer");
    EXPECT_EQ(names().size(), 2U);
  }
  EXPECT_EQ(get(target), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"out.onnx"});
}

TEST_F(EmitOutputFile, BareNameInTheCurrentFolder) {
  const int status = in_child([&] {
    fs::current_path(folder_);
    OutputFile file("bare.onnx");
    write(file, "x");
    file.commit();
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names(), std::vector<std::string>{"bare.onnx"});
}

TEST_F(EmitOutputFile, ThreadsWriteTheirParts) {
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kPart = 100'003;
  const fs::path target = folder_ / "out.onnx";
  OutputFile file(target.string());
  file.set_size(kThreads * kPart + 5);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back(
        [&file, i] { file.write_at(i * kPart, bytes(std::string(kPart, static_cast<char>('a' + i)))); });
  }
  for (std::thread& thread : threads) thread.join();
  file.commit();
  std::string want;
  for (std::size_t i = 0; i < kThreads; ++i) want += std::string(kPart, static_cast<char>('a' + i));
  EXPECT_EQ(get(target), want + std::string(5, '\0'));
}

TEST_F(EmitOutputFile, TwoRunsForOneTarget) {
  const std::string target = (folder_ / "out.onnx").string();
  OutputFile first(target);
  OutputFile second(target);
  EXPECT_NE(first.temporary(), second.temporary());
  write(first, "first");
  write(second, "second");
  first.commit();
  EXPECT_EQ(get(target), "first");
  second.commit();
  EXPECT_EQ(get(target), "second");
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(EmitOutputFile, WriteIfChangedLeavesEqualBytesAlone) {
  const fs::path target = folder_ / "out.onnx";
  const std::string text(3'000'000, 'w');  // several chunks of the comparison
  put(target, text);
  struct stat before = {};
  ASSERT_EQ(stat(target.c_str(), &before), 0);
  OutputFile file(target.string());
  write(file, text);
  EXPECT_EQ(file.commit({.write_if_changed = true}), OutputFile::Outcome::unchanged);
  struct stat after = {};
  ASSERT_EQ(stat(target.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(EmitOutputFile, WriteIfChangedWritesWhatDiffers) {
  const fs::path target = folder_ / "out.onnx";
  const std::string old(3'000'000, 'w');
  std::string changed = old;
  changed.back() = 'x';
  for (const std::string& text : {changed, old + "w", old.substr(1), std::string()}) {
    put(target, old);
    OutputFile file(target.string());
    write(file, text);
    EXPECT_EQ(file.commit({.write_if_changed = true}), OutputFile::Outcome::written);
    EXPECT_EQ(get(target), text);
  }
  fs::remove(target);
  OutputFile file(target.string());
  write(file, "fresh");
  EXPECT_EQ(file.commit({.write_if_changed = true}), OutputFile::Outcome::written);
  EXPECT_EQ(get(target), "fresh");
}

TEST_F(EmitOutputFile, SyncedCommit) {
  const fs::path target = folder_ / "out.onnx";
  OutputFile file(target.string());
  write(file, "durable");
  EXPECT_EQ(file.commit({.sync = true}), OutputFile::Outcome::written);
  EXPECT_EQ(get(target), "durable");
}

TEST_F(EmitOutputFile, ModeOfANewFileFollowsTheUmask) {
  const fs::path target = folder_ / "out.onnx";
  const int status = in_child([&] {
    umask(027);
    OutputFile file(target.string());
    file.commit();
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mode_of(target), 0640U);
}

TEST_F(EmitOutputFile, ModeOfAnOldFileStays) {
  const fs::path target = folder_ / "out.onnx";
  for (const mode_t mode : {0600U, 0666U, 0755U}) {
    put(target, "old");
    ASSERT_EQ(chmod(target.c_str(), mode), 0);
    OutputFile file(target.string());
    EXPECT_EQ(mode_of(file.temporary()), mode) << "a secret must not be readable while it is being written";
    file.commit();
    EXPECT_EQ(mode_of(target), mode);
  }
}

TEST_F(EmitOutputFile, WritesThroughLinks) {
  fs::create_directory(folder_ / "real");
  put(folder_ / "real/model.onnx", "old");
  fs::create_symlink("real/model.onnx", folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "link to link");
  OutputFile file((folder_ / "link to link").string());
  EXPECT_EQ(fs::path(file.temporary()).parent_path(), folder_ / "real");
  write(file, "new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link to link"));
  EXPECT_EQ(get(folder_ / "real/model.onnx"), "new");
}

TEST_F(EmitOutputFile, LinkToWhatIsNotThereYet) {
  fs::create_symlink("later.onnx", folder_ / "link");
  OutputFile file((folder_ / "link").string());
  write(file, "new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(get(folder_ / "later.onnx"), "new");
}

TEST_F(EmitOutputFile, LinksInACircle) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_EQ(code_of([&] { OutputFile file((folder_ / "a").string()); }), ELOOP);
}

TEST_F(EmitOutputFile, RefusesWhatIsNoFile) {
  EXPECT_EQ(code_of([&] { OutputFile file(folder_.string()); }), EISDIR);
  EXPECT_EQ(code_of([] { OutputFile file("/dev/null"); }), EINVAL);
  EXPECT_EQ(code_of([] { OutputFile file(""); }), ENOENT);
  struct stat status = {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(EmitOutputFile, ErrorNamesThePathAsGiven) {
  const std::string target = (folder_ / "no such folder/out.onnx").string();
  try {
    OutputFile file(target);
    FAIL() << "created in a folder that is not there";
  } catch (const IoError& error) {
    EXPECT_EQ(error.path(), target);
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_THAT(error.what(), HasSubstr(target + ": cannot create a file beside it: No such file or directory"));
  }
}

/// As a user whom permissions bind: root passes them all.
int unprivileged(const fs::path& folder, const std::function<void()>& work) {
  return in_child([&] {
    if (geteuid() == 0 && (chown(folder.c_str(), 65534, 65534) != 0 || setgid(65534) != 0 || setuid(65534) != 0)) {
      return 98;
    }
    return code_of(work);
  });
}

TEST_F(EmitOutputFile, ReadOnlyFolder) {
  const fs::path target = folder_ / "out.onnx";
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  const int status = unprivileged(folder_, [&] { OutputFile file(target.string()); });
  EXPECT_EQ(WEXITSTATUS(status), EACCES);
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_TRUE(names().empty());
}

TEST_F(EmitOutputFile, ReadOnlyTarget) {
  const fs::path target = folder_ / "out.onnx";
  put(target, "precious");
  ASSERT_EQ(chmod(target.c_str(), 0444), 0);
  const int status = unprivileged(folder_, [&] { OutputFile file(target.string()); });
  EXPECT_EQ(WEXITSTATUS(status), EACCES);
  EXPECT_EQ(get(target), "precious");
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(EmitOutputFile, BeyondTheSizeLimit) {
  const fs::path target = folder_ / "out.onnx";
  put(target, "old");
  const int status = in_child([&] {
    const rlimit limit = {100'000, 100'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
    return code_of([&] {
      OutputFile file(target.string());
      file.write_at(0, bytes(std::string(200'000, 'x')));  // a short write first, then the limit
      file.commit();
    });
  });
  ASSERT_TRUE(WIFEXITED(status)) << "died of signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), EFBIG);
  EXPECT_EQ(get(target), "old");
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(EmitOutputFile, OffsetBeyondWhatAFileHas) {
  OutputFile file((folder_ / "out.onnx").string());
  EXPECT_EQ(code_of([&] { file.set_size(std::uint64_t{1} << 63); }), EFBIG);
  EXPECT_EQ(code_of([&] { file.write_at(~std::uint64_t{0}, bytes("x")); }), EFBIG);
}

TEST_F(EmitOutputFile, FullDisk) {
  const fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  constexpr int kNoMount = 97;
  const int status = in_child([&] {
    // A file system of this child alone, gone with it.
    if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNoMount;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kNoMount;
    if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) return kNoMount;
    put(disk / "out.onnx", "old");
    const int code = code_of([&] {
      OutputFile file((disk / "out.onnx").string());
      file.write_at(0, bytes(std::string(1'000'000, 'x')));
      file.commit();
    });
    const auto entries = std::distance(fs::directory_iterator(disk), fs::directory_iterator());
    return get(disk / "out.onnx") == "old" && entries == 1 ? code : 96;
  });
  if (WEXITSTATUS(status) == kNoMount) GTEST_SKIP() << "this machine lets no test mount a small tmpfs";
  EXPECT_EQ(WEXITSTATUS(status), ENOSPC);
}

TEST_F(EmitOutputFile, SignalsRemoveTheTemporary) {
  put(folder_ / "out.onnx", "old");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = in_child([&] {
      OutputFile done((folder_ / "other.onnx").string());  // its place in the list is free again
      done.commit();
      OutputFile file((folder_ / "out.onnx").string());
      OutputFile second((folder_ / "second.onnx").string());
      write(file, "half of the ");
      if (names().size() != 4) return 98;
      raise(number);
      return 0;
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << "ended with " << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_EQ(get(folder_ / "out.onnx"), "old");
    EXPECT_EQ(names(), (std::vector<std::string>{"other.onnx", "out.onnx"}));
  }
}

TEST_F(EmitOutputFile, LeavesOtherPeoplesSignalsAlone) {
  const int status = in_child([&] {
    signal(SIGINT, SIG_IGN);
    OutputFile file((folder_ / "out.onnx").string());
    raise(SIGINT);
    write(file, "went on");
    file.commit();
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(get(folder_ / "out.onnx"), "went on");
}

TEST_F(EmitOutputFile, LongNames) {
  const std::string name(255, 'n');  // the temporary's name must not be longer still
  OutputFile file((folder_ / name).string());
  file.commit();
  EXPECT_EQ(names(), std::vector<std::string>{name});
  EXPECT_EQ(code_of([&] { OutputFile longer((folder_ / (name + "n")).string()); }), ENAMETOOLONG);
}

}  // namespace
}  // namespace ampc::emit
