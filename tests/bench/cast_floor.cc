// The least that casting a model's weights can take: every byte of a file is taken for fp32, read once from a mapping,
// cast and written from a buffer that stays in the cache. Knows no model and no rule, counts nothing.
//
//   cast_floor IN OUT [THREADS [BUFFER_KIB]]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "floor_cast.h"

namespace {

[[noreturn]] void fail(const char* path) {
  std::perror(path);
  std::exit(1);
}

void write_all(int fd, const char* path, const std::byte* from, std::size_t bytes, std::size_t offset) {
  while (bytes != 0) {
    const ssize_t n = pwrite(fd, from, bytes, static_cast<off_t>(offset));
    if (n <= 0) fail(path);
    from += n;
    offset += static_cast<std::size_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: cast_floor IN OUT [THREADS [BUFFER_KIB]]\n");
    return 2;
  }
  const long threads = argc > 3 ? std::strtol(argv[3], nullptr, 10) : 1;
  const std::size_t buffer_bytes = static_cast<std::size_t>(argc > 4 ? std::strtol(argv[4], nullptr, 10) : 256) << 10;
  const int in = open(argv[1], O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  if (in < 0 || fstat(in, &info) != 0) fail(argv[1]);
  const auto size = static_cast<std::size_t>(info.st_size) / 4 * 4;
  const int out = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0 || ftruncate(out, static_cast<off_t>(size / 2)) != 0) fail(argv[2]);
  void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, in, 0);
  if (map == MAP_FAILED) fail(argv[1]);
  const auto* source = static_cast<const std::byte*>(map);

  std::atomic<std::size_t> next{0};  // in elements
  const std::size_t step = buffer_bytes / 2, count = size / 4;
  const auto work = [&] {
    std::vector<std::byte> buffer(step * 2);
    for (std::size_t at = next.fetch_add(step); at < count; at = next.fetch_add(step)) {
      const std::size_t n = std::min(step, count - at);
      floor_cast(source + at * 4, buffer.data(), n);
      write_all(out, argv[2], buffer.data(), n * 2, at * 2);
    }
  };
  std::vector<std::thread> others;
  for (long i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (auto& t : others) t.join();
  if (close(out) != 0) fail(argv[2]);
  return 0;
}
