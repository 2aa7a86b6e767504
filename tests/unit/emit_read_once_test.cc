// Pages go when all that is to be read of them has been read, and not before.
#include "ampc/emit/read_once.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ampc::emit {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20, kSize = 16 * kMiB;

/// A private mapping of a file, whose pages that were written to show where they have been dropped: as the file's
/// again.
class Mapping {
 public:
  Mapping() {
    std::string name = (std::filesystem::temp_directory_path() / "ampc_read_once_XXXXXX").string();
    const int fd = mkstemp(name.data());
    EXPECT_EQ(ftruncate(fd, kSize), 0);
    data_ = static_cast<std::byte*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
    close(fd);
    unlink(name.c_str());
    for (std::size_t at = 0; at < kSize; at += 4096) data_[at] = std::byte{1};
  }
  ~Mapping() { munmap(data_, kSize); }
  wire::Bytes bytes() const { return {data_, kSize}; }
  /// Pages that are still there, in KiB.
  std::size_t kept() const {
    std::size_t pages = 0;
    for (std::size_t at = 0; at < kSize; at += 4096) pages += data_[at] == std::byte{1} ? 1 : 0;
    return pages * 4;
  }

 private:
  std::byte* data_ = nullptr;
};

TEST(ReadOnce, LetsGoOfWindowsThatAreRead) {
  const Mapping file;
  ASSERT_EQ(file.kept(), 16 * 1024U);
  ReadOnce once({file.bytes()});
  const wire::Bytes first = file.bytes().subspan(1000, 9 * kMiB),
                    second = file.bytes().subspan(10 * kMiB + 4, 2 * kMiB);
  once.expect(first);
  once.expect(second);
  once.expect(second);  // by two jobs
  once.read(second);
  EXPECT_EQ(file.kept(), 16 * 1024U) << "half of what is to be read";
  for (std::size_t at = 0; at < first.size(); at += 100'000) {
    once.read(first.subspan(at, std::min<std::size_t>(100'000, first.size() - at)));
  }
  EXPECT_LE(file.kept(), 9 * 1024U) << "nothing below the window of the other";
  EXPECT_GE(file.kept(), 4 * 1024U);
  once.read(second);
  EXPECT_LE(file.kept(), 6 * 1024U);
  EXPECT_GE(file.kept(), 2 * 1024U) << "what nobody reads is nobody's concern";
}

TEST(ReadOnce, IsNotConcernedWithOtherMemory) {
  const Mapping file, other;
  ReadOnce once({file.bytes()});
  once.expect(other.bytes());
  once.read(other.bytes());
  once.read(wire::Bytes());
  EXPECT_EQ(other.kept(), 16 * 1024U);
  EXPECT_EQ(file.kept(), 16 * 1024U);
}

}  // namespace
}  // namespace ampc::emit
