#include "ampc/model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "ampc/model/read_faults.h"

namespace ampc {
namespace {

[[noreturn]] void fail(int error, const std::string& path) {
  throw std::system_error(error, std::generic_category(), path);
}

std::int64_t modified(const struct stat& info) {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  return info.st_mtim.tv_sec * kPerSecond + info.st_mtim.tv_nsec;
}

int open_to_read(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer is no reason to wait
}

/// Exporters write a file for each weight, and all are open at once.
bool allow_more_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  int fd = open_to_read(path);
  if (fd < 0 && errno == EMFILE && allow_more_files()) fd = open_to_read(path);
  if (fd < 0) fail(errno, path);
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    fail(error, path);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    fail(S_ISDIR(info.st_mode) ? EISDIR : EINVAL, path);
  }
  modified_ = modified(info);
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ != 0) {
    void* p = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      const int error = errno;
      ::close(fd);
      fail(error, path);
    }
    data_ = static_cast<const std::byte*>(p);
    guard_ = read_faults::watch(data_, size_, fd, path);
  }
  fd_ = fd;
}

MappedFile::~MappedFile() {
  read_faults::forget(guard_);
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) ::close(fd_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  std::swap(modified_, other.modified_);
  std::swap(guard_, other.guard_);
  return *this;
}

void MappedFile::let_go(std::size_t begin, std::size_t end) const {
  constexpr std::size_t kPage = 4096;
  begin = (begin + kPage - 1) / kPage * kPage;
  end = end / kPage * kPage;
  if (begin < end) (void)::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);  // advice
}

bool MappedFile::changed() const {
  struct stat now {};
  if (fd_ < 0 || ::fstat(fd_, &now) != 0) return false;
  return static_cast<std::size_t>(now.st_size) != size_ || modified(now) != modified_;
}

}  // namespace ampc
