#include "ampc/model/read_faults.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "ampc/diag/model_codes.h"

namespace ampc::read_faults {

// A handler may neither lock nor allocate: a list that only grows, whose nodes are used again, with texts made ahead.
struct Guard {
  enum State : int { kFree, kFilling, kWatched };
  std::atomic<int> state{kFilling};
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  int fd = -1;
  std::string shorter, unreadable;
  Guard* next = nullptr;
};

namespace {

static_assert(std::atomic<Guard*>::is_always_lock_free && std::atomic<void (*)()>::is_always_lock_free);

constexpr int kExitCode = 1;  // wrong input

std::atomic<Guard*> guards{nullptr};
std::atomic<void (*)()> before_death{nullptr};
std::atomic_flag dying = ATOMIC_FLAG_INIT;
struct sigaction older;

const Guard* guard_of(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  for (const Guard* g = guards.load(); g != nullptr; g = g->next) {
    if (g->state.load() == Guard::kWatched && g->begin <= at && at < g->end) return g;
  }
  return nullptr;
}

void say(const char* text, std::size_t size) {
  while (size != 0) {
    const ssize_t written = write(STDERR_FILENO, text, size);
    if (written <= 0) return;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

extern "C" void report_and_die(int number, siginfo_t* info, void* /*context*/) {
  const Guard* guard = guard_of(info->si_addr);
  if (guard == nullptr) {
    sigaction(number, &older, nullptr);  // the access is tried again, and faults to whom it belongs
    return;
  }
  // One thread tells it; the others end with it.
  if (dying.test_and_set()) {
    for (;;) pause();
  }
  struct stat now = {};
  const bool shorter = fstat(guard->fd, &now) == 0 && now.st_size < guard->end - guard->begin;
  const std::string& text = shorter ? guard->shorter : guard->unreadable;
  constexpr char kClearLine[] = "\r\033[K";  // of the progress bar
  if (isatty(STDERR_FILENO) != 0) say(kClearLine, sizeof kClearLine - 1);
  say(text.data(), text.size());
  if (auto* const clean_up = before_death.load(); clean_up != nullptr) clean_up();
  _exit(kExitCode);
}

void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours = {};
    ours.sa_sigaction = report_and_die;
    ours.sa_flags = SA_SIGINFO;
    sigfillset(&ours.sa_mask);
    sigaction(SIGBUS, &ours, &older);
  });
}

std::string text(const std::string& path, std::string_view code, std::string_view what, std::string_view help) {
  return fmt::format("{}: error[{}]: {}\n  help: {}\n", path, code, what, help);
}

}  // namespace

Guard* watch(const std::byte* data, std::size_t size, int fd, const std::string& path) {
  install();
  Guard* guard = guards.load();
  for (; guard != nullptr; guard = guard->next) {
    int expected = Guard::kFree;
    if (guard->state.compare_exchange_strong(expected, Guard::kFilling)) break;
  }
  const bool fresh = guard == nullptr;
  if (fresh) guard = new Guard;
  guard->begin = data;
  guard->end = data + size;
  guard->fd = fd;
  guard->shorter = text(path, codes::kInputChanged, "the file became shorter while it was read",
                        "let nothing write to it during the run, or replace it by a rename; then run again");
  guard->unreadable = text(path, codes::kCannotRead, "the file cannot be read to its end: its disk reports an error",
                           "copy the file anew, or look at the disk");
  if (fresh) {
    guard->next = guards.load();
    while (!guards.compare_exchange_weak(guard->next, guard)) {
    }
  }
  guard->state.store(Guard::kWatched);
  return guard;
}

void forget(Guard* guard) noexcept {
  if (guard != nullptr) guard->state.store(Guard::kFree);
}

void on_death(void (*clean_up)()) noexcept { before_death.store(clean_up); }

}  // namespace ampc::read_faults
