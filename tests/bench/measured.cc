// Runs a command and tells what it cost, as one line of JSON on stdout. Wall time from fork to the end, the command's
// CPU time and peak memory from the kernel, and, where asked for, the largest RssAnon of its process, sampled.
//
//   measured [--sample MICROSECONDS] -- COMMAND ARGUMENT…
//
// A program of its own, and a small one: a peak that the kernel tells of a child is never below what its parent had.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

/// RssAnon in KiB; 0 where the process has gone.
long anonymous_kib(const std::string& status) {
  const int fd = open(status.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[4096];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = '\0';
  const char* at = std::strstr(text, "RssAnon:");
  return at == nullptr ? 0 : std::strtol(at + 8, nullptr, 10);
}

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; }

}  // namespace

int main(int argc, char** argv) {
  long sample = 0;
  int first = 1;
  if (argc > 2 && std::string_view(argv[1]) == "--sample") {
    sample = std::strtol(argv[2], nullptr, 10);
    first = 3;
  }
  if (first + 1 >= argc || std::string_view(argv[first]) != "--") {
    std::fprintf(stderr, "usage: measured [--sample MICROSECONDS] -- COMMAND ARGUMENT...\n");
    return 2;
  }
  const auto start = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(argv[first + 1], argv + first + 1);
    std::perror(argv[first + 1]);
    _exit(127);
  }
  if (child < 0) {
    std::perror("fork");
    return 1;
  }
  int status = 0;
  rusage usage = {};
  long anonymous = 0;
  if (sample > 0) {
    const std::string path = "/proc/" + std::to_string(child) + "/status";
    while (wait4(child, &status, WNOHANG, &usage) == 0) {
      anonymous = std::max(anonymous, anonymous_kib(path));
      std::this_thread::sleep_for(std::chrono::microseconds(sample));
    }
  } else {
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
  }
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::printf(R"({"code": %d, "wall": %.6f, "user": %.6f, "system": %.6f, "peak_kib": %ld, "anonymous_kib": %ld})"
              "\n",
              code, wall, seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss, anonymous);
  return code;
}
