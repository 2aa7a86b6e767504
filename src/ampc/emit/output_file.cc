#include "ampc/emit/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ampc/emit/temporary_file.h"

namespace ampc {

IoError::IoError(std::string path, int code, std::string message)
    : std::runtime_error(fmt::format("{}: {}: {}", path, message, std::generic_category().message(code))),
      path_(std::move(path)),
      code_(code),
      message_(std::move(message)) {}

namespace emit {

namespace {

/// Reads a byte of every page: what the kernel could not read for a write is then a fault of this process, which says
/// what file it is.
void touch(std::span<const std::byte> bytes) {
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 0; at < bytes.size(); at += kPage) {
    [[maybe_unused]] const volatile std::byte read = bytes[at];
  }
  [[maybe_unused]] const volatile std::byte last = bytes.back();
}

}  // namespace

OutputFile::OutputFile(std::string target) : given_(std::move(target)) {
  if (given_.empty()) fail(ENOENT, "cannot write");
  try {
    target_ = temporary::follow_links(given_);
  } catch (int code) {
    fail(code, "cannot write");
  }
  struct stat existing = {};
  const bool exists = stat(target_.c_str(), &existing) == 0;
  if (exists) {
    if (S_ISDIR(existing.st_mode)) fail(EISDIR, "cannot write");
    if (!S_ISREG(existing.st_mode)) fail(EINVAL, "cannot write: not a regular file");
    if (access(target_.c_str(), W_OK) != 0) fail(errno, "cannot write");
  }
  const mode_t mode = exists ? existing.st_mode & 0777U : 0666U;
  temporary::File file = temporary::create(target_, mode);
  temporary_ = std::move(file.path);
  fd_ = file.fd;
  lock_ = file.lock;
  removal_ = file.removal;
  if (fd_ < 0) fail(file.error, "cannot create a file beside it");
  // The umask has been at it.
  if (exists && fchmod(fd_, mode) != 0) {
    const int code = errno;
    discard();
    fail(code, "cannot set its mode");
  }
}

OutputFile::~OutputFile() {
  discard();
  if (lock_ >= 0) close(lock_);
}

void OutputFile::fail(int code, std::string message) const { throw IoError(given_, code, std::move(message)); }

void OutputFile::discard() noexcept {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  unlink(temporary_.c_str());
  temporary::disarm(removal_);
  if (lock_ >= 0) close(std::exchange(lock_, -1));
}

void OutputFile::set_size(std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) fail(EFBIG, "cannot write");
  int result = 0;
  do {
    result = ftruncate(fd_, static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  if (result != 0) fail(errno, "cannot write");
}

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - bytes.size()) {
    fail(EFBIG, "cannot write");
  }
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      const int code = errno;
      if (code == EFAULT) touch(bytes);
      fail(code, "cannot write");
    }
    if (written == 0) fail(ENOSPC, "cannot write");
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

bool OutputFile::copy_from(int fd, std::uint64_t from, std::uint64_t to, std::uint64_t size) const {
  while (size != 0) {
    auto in = static_cast<off64_t>(from), out = static_cast<off64_t>(to);
    const ssize_t copied = copy_file_range(fd, &in, fd_, &out, size, 0);
    if (copied < 0) {
      if (errno == EINTR) continue;
      // Either there is no such copy here, or the input cannot be read: a way through memory tells.
      if (errno == EXDEV || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL || errno == EPERM || errno == EIO)
        return false;
      fail(errno, "cannot write");
    }
    if (copied == 0) return false;  // the input has become shorter
    from += static_cast<std::uint64_t>(copied);
    to += static_cast<std::uint64_t>(copied);
    size -= static_cast<std::uint64_t>(copied);
  }
  return true;
}

void OutputFile::copy_from(const OutputFile& file, std::uint64_t from, std::uint64_t size) const {
  if (copy_from(file.fd_, from, 0, size)) return;
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(kChunk, size)));
  for (std::uint64_t at = 0; at < size;) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - at));
    const ssize_t got = pread(file.fd_, buffer.data(), want, static_cast<off_t>(from + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) file.fail(got < 0 ? errno : EIO, "cannot read what was written");
    write_at(at, std::span(buffer).first(static_cast<std::size_t>(got)));
    at += static_cast<std::uint64_t>(got);
  }
}

bool OutputFile::exchange() {
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) return false;
  keep();
  return true;
}

void OutputFile::keep() {
  if (close(std::exchange(fd_, -1)) != 0 && errno != EINTR) {
    const int code = errno;
    unlink(temporary_.c_str());
    temporary::disarm(removal_);
    fail(code, "cannot write");
  }
  temporary::disarm(removal_);
}

bool OutputFile::equals_target() const {
  struct stat ours = {};
  struct stat theirs = {};
  const int other = open(target_.c_str(), O_RDONLY | O_CLOEXEC);
  if (other < 0) return false;
  bool equal = fstat(fd_, &ours) == 0 && fstat(other, &theirs) == 0 && ours.st_size == theirs.st_size;
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::vector<char> left(equal ? kChunk : 0);
  std::vector<char> right(left.size());
  const auto fill = [](int fd, std::vector<char>& buffer, off_t offset, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t got = pread(fd, buffer.data() + done, size - done, offset + static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<std::size_t>(got);
    }
    return true;
  };
  for (off_t offset = 0; equal && offset < ours.st_size;) {
    const std::size_t size = std::min(kChunk, static_cast<std::size_t>(ours.st_size - offset));
    equal = fill(fd_, left, offset, size) && fill(other, right, offset, size) &&
            std::memcmp(left.data(), right.data(), size) == 0;
    offset += static_cast<off_t>(size);
  }
  close(other);
  return equal;
}

OutputFile::Outcome OutputFile::commit(const CommitOptions& options) {
  if (options.write_if_changed && equals_target()) {
    discard();
    return Outcome::unchanged;
  }
  const auto abandon = [this](int code, const char* message) {
    unlink(temporary_.c_str());
    temporary::disarm(removal_);
    fail(code, message);
  };
  if (options.sync && fsync(fd_) != 0) {
    const int code = errno;
    discard();
    fail(code, "cannot write");
  }
  // Some file systems report a failed write only here.
  const int closed = close(std::exchange(fd_, -1));
  if (closed != 0 && errno != EINTR) abandon(errno, "cannot write");
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
    abandon(errno, "cannot put the finished file in its place");
  temporary::disarm(removal_);
  if (options.sync) {
    const std::string folder = temporary::folder_of(target_);
    const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    const int code = errno;
    if (fd >= 0) close(fd);
    if (!synced) fail(code, "written, but its folder could not be synchronised");
  }
  return Outcome::written;
}

}  // namespace emit
}  // namespace ampc
