#include "ampc/emit/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ampc/model/read_faults.h"

namespace ampc::emit::temporary {

// Files that a signal removes. A handler may neither lock nor allocate: a list that only grows, whose nodes are used
// again, each with its path in place.
struct Removal {
  enum State : int { kFree, kFilling, kArmed };
  std::atomic<int> state{kFilling};
  char path[PATH_MAX] = {};
  Removal* next = nullptr;
};

namespace {

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Removal*>::is_always_lock_free);

std::atomic<Removal*> removals{nullptr};

constexpr int kFatalSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr std::size_t kMostKept = 160;  // of the target's own name: file systems stop at 255 bytes
constexpr std::string_view kSuffix = ".tmp";

void remove_armed() {
  for (Removal* entry = removals.load(); entry != nullptr; entry = entry->next) {
    if (entry->state.load() == Removal::kArmed) unlink(entry->path);
  }
}

extern "C" void remove_and_die(int signal_number) {
  remove_armed();
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
    read_faults::on_death(remove_armed);
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

/// ".model.onnx.1f3a-0123456789abcdef.tmp"
std::string fresh_name(const std::string& target) {
  static thread_local std::random_device random;
  const std::string folder = folder_of(target);
  const std::string name = target.substr(folder.size(), kMostKept);
  return fmt::format("{}.{}.{:x}-{:08x}{:08x}{}", folder, name, getpid(), random(), random(), kSuffix);
}

/// Whether a file name ends as fresh_name() ends one, ".1f3a-0123456789abcdef.tmp", or so and with ".link". Gives what
/// stands before that; empty where it does not.
std::string_view own_part(std::string_view name) {
  if (name.ends_with(".link")) name.remove_suffix(5);
  if (!name.starts_with('.') || !name.ends_with(kSuffix)) return {};
  name.remove_suffix(kSuffix.size());
  const std::size_t dot = name.rfind('.');
  const std::string_view number = name.substr(dot + 1);
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::size_t kRandom = 16;
  const std::size_t dash = number.find_first_not_of(kHex);
  const bool ours = dot != 0 && dash != 0 && dash != std::string_view::npos && number[dash] == '-' &&
                    number.size() - dash - 1 == kRandom &&
                    number.find_first_not_of(kHex, dash + 1) == std::string_view::npos;
  return ours ? name.substr(1, dot - 1) : std::string_view();
}

/// Locks the file, and sees whether a sweep took it away before that.
bool still_there(int fd) {
  struct stat info = {};
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;  // a file system without locks: nobody sweeps it
  return fstat(fd, &info) == 0 && info.st_nlink != 0;
}

/// Removes a file that no process holds locked. Who wrote it is dead before `keep` is asked.
void remove_dead(const std::string& folder, const std::string& name, const Keep& keep) {
  const std::string path = folder + name;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && (!keep || !keep(name))) unlink(path.c_str());
  close(fd);
}

/// `folder` with its slash, or empty.
void sweep_names(const std::string& folder, const std::function<bool(std::string_view)>& ours, const Keep& keep) {
  const std::unique_ptr<DIR, int (*)(DIR*)> list(opendir(folder.empty() ? "." : folder.c_str()), closedir);
  if (!list) return;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(list.get())) {
    if (ours(entry->d_name)) names.emplace_back(entry->d_name);
  }
  for (const std::string& name : names) remove_dead(folder, name, keep);
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

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

File create(const std::string& target, mode_t mode) {
  install_handlers();
  constexpr int kTries = 100;
  File file;
  for (int tries = 0; tries <= kTries; ++tries) {
    file.path = fresh_name(target);
    const SignalsBlocked blocked;
    file.fd = open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    file.error = errno;
    if (file.fd < 0) {
      if (file.error != EEXIST && file.error != EINTR) break;
    } else if (still_there(file.fd)) {
      file.removal = arm(file.path);
      file.lock = fcntl(file.fd, F_DUPFD_CLOEXEC, 0);
      break;
    } else {
      close(std::exchange(file.fd, -1));
    }
  }
  return file;
}

void disarm(Removal*& removal) noexcept {
  if (removal != nullptr) removal->state.store(Removal::kFree);
  removal = nullptr;
}

void sweep(const std::string& given, const Keep& keep) {
  std::string target;
  try {
    target = follow_links(given);
  } catch (int) {
    return;
  }
  const std::string folder = folder_of(target), own = target.substr(folder.size());
  if (own.size() > kMostKept) return;  // the names of others begin alike
  sweep_names(
      folder, [&](std::string_view name) { return own_part(name) == own; }, keep);
}

void sweep_folder(const std::string& folder) {
  sweep_names(folder + "/", [](std::string_view name) { return !own_part(name).empty(); }, {});
}

}  // namespace ampc::emit::temporary
