#include "ampc/emit/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ampc {

IoError::IoError(std::string path, int code, std::string message)
    : std::runtime_error(fmt::format("{}: {}: {}", path, message, std::generic_category().message(code))),
      path_(std::move(path)),
      code_(code),
      message_(std::move(message)) {}

namespace emit {
namespace {

// Files that a signal removes. A handler may neither lock nor allocate: a list that only grows, whose nodes are used
// again, each with its path in place.
struct Removal {
  enum State : int { kFree, kFilling, kArmed };
  std::atomic<int> state{kFilling};
  char path[PATH_MAX] = {};
  Removal* next = nullptr;
};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Removal*>::is_always_lock_free);

std::atomic<Removal*> removals{nullptr};

constexpr int kFatalSignals[] = {SIGINT, SIGTERM, SIGHUP};

extern "C" void remove_and_die(int signal_number) {
  for (Removal* entry = removals.load(); entry != nullptr; entry = entry->next) {
    if (entry->state.load() == Removal::kArmed) unlink(entry->path);
  }
  // Delivered, with the default action, once the handler returns.
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/// Takes over the signals that nobody else has.
void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction current;
    for (const int number : kFatalSignals) {
      if (sigaction(number, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) continue;
      struct sigaction ours = {};
      ours.sa_handler = remove_and_die;
      sigfillset(&ours.sa_mask);
      sigaction(number, &ours, nullptr);
    }
    // A file beyond the size limit is then an error of the write (EFBIG), not the end of the process.
    if (sigaction(SIGXFSZ, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) signal(SIGXFSZ, SIG_IGN);
  });
}

Removal* arm(const std::string& path) {
  if (path.size() >= PATH_MAX) return nullptr;  // no file can have been made there
  Removal* entry = removals.load();
  for (; entry != nullptr; entry = entry->next) {
    int expected = Removal::kFree;
    if (entry->state.compare_exchange_strong(expected, Removal::kFilling)) break;
  }
  const bool fresh = entry == nullptr;
  if (fresh) entry = new Removal;
  std::memcpy(entry->path, path.c_str(), path.size() + 1);
  if (fresh) {
    entry->next = removals.load();
    while (!removals.compare_exchange_weak(entry->next, entry)) {
    }
  }
  entry->state.store(Removal::kArmed);
  return entry;
}

void disarm(void*& removal) noexcept {
  if (removal != nullptr) static_cast<Removal*>(removal)->state.store(Removal::kFree);
  removal = nullptr;
}

/// Holds the signals off on this thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : kFatalSignals) sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// The folder part of a path, with its slash; empty for a bare name.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

/// What a chain of symbolic links ends at, whether or not that exists. Throws the errno.
std::string follow_links(std::string path) {
  constexpr int kMostLinks = 40;
  for (int links = 0;; ++links) {
    char text[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), text, sizeof(text));
    if (length < 0) {
      // Not a link, or not there: where the file goes. Other faults show when it is opened.
      if (errno == EINVAL || errno == ENOENT || errno == EACCES || errno == ENOTDIR) return path;
      throw errno;
    }
    if (links == kMostLinks) throw ELOOP;
    std::string next(text, static_cast<std::size_t>(length));
    path = next.front() == '/' ? std::move(next) : folder_of(path).append(next);
  }
}

/// A hidden name beside the target that no other run uses.
std::string temporary_name(const std::string& target) {
  constexpr std::size_t kMostKept = 160;  // of the target's own name: file systems stop at 255 bytes
  static thread_local std::random_device random;
  const std::string folder = folder_of(target);
  const std::string name = target.substr(folder.size(), kMostKept);
  return fmt::format("{}.{}.{:x}-{:08x}{:08x}.tmp", folder, name, getpid(), random(), random());
}

}  // namespace

OutputFile::OutputFile(std::string target) : given_(std::move(target)) {
  if (given_.empty()) fail(ENOENT, "cannot write");
  try {
    target_ = follow_links(given_);
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
  install_handlers();
  const mode_t mode = exists ? existing.st_mode & 0777U : 0666U;
  constexpr int kTries = 100;
  for (int tries = 0; fd_ < 0; ++tries) {
    temporary_ = temporary_name(target_);
    const SignalsBlocked blocked;
    fd_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd_ >= 0) {
      removal_ = arm(temporary_);
    } else if ((errno != EEXIST && errno != EINTR) || tries == kTries) {
      fail(errno, "cannot create a file beside it");
    }
  }
  // The umask has been at it.
  if (exists && fchmod(fd_, mode) != 0) {
    const int code = errno;
    discard();
    fail(code, "cannot set its mode");
  }
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::fail(int code, std::string message) const { throw IoError(given_, code, std::move(message)); }

void OutputFile::discard() noexcept {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  unlink(temporary_.c_str());
  disarm(removal_);
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
      fail(errno, "cannot write");
    }
    if (written == 0) fail(ENOSPC, "cannot write");
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

bool OutputFile::copy_from(int fd, std::uint64_t from, std::uint64_t to, std::uint64_t size) const {
  for (bool begun = false; size != 0; begun = true) {
    auto in = static_cast<off64_t>(from), out = static_cast<off64_t>(to);
    const ssize_t copied = copy_file_range(fd, &in, fd_, &out, size, 0);
    if (copied < 0) {
      if (errno == EINTR) continue;
      const bool unknown =
          errno == EXDEV || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL || errno == EPERM;
      if (unknown && !begun) return false;
      fail(errno, "cannot write");
    }
    if (copied == 0) {
      if (!begun) return false;
      fail(EIO, "an input became shorter while it was copied");
    }
    from += static_cast<std::uint64_t>(copied);
    to += static_cast<std::uint64_t>(copied);
    size -= static_cast<std::uint64_t>(copied);
  }
  return true;
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
    disarm(removal_);
    fail(code, "cannot write");
  }
  disarm(removal_);
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
    disarm(removal_);
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
  disarm(removal_);
  if (options.sync) {
    const std::string folder = folder_of(target_);
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
