#include "ampc/emit/read_once.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace ampc::emit {

namespace {

// A window is at least what one entry of the page table above the last maps, and a small part of the file.
constexpr std::size_t kLeastWindow = std::size_t{2} << 20, kMostWindow = std::size_t{32} << 20, kWindows = 64;

std::uintptr_t address(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

ReadOnce::ReadOnce(std::vector<wire::Bytes> files) {
  std::sort(files.begin(), files.end(), [](wire::Bytes a, wire::Bytes b) { return a.data() < b.data(); });
  for (const wire::Bytes bytes : files) {
    if (bytes.empty()) continue;
    File file;
    file.bytes = bytes;
    file.window = std::clamp(std::bit_floor(bytes.size() / kWindows), kLeastWindow, kMostWindow);
    file.first = address(bytes.data()) / file.window * file.window;
    const std::uintptr_t last = (address(bytes.data()) + bytes.size() - 1) / file.window * file.window;
    file.left = std::vector<std::atomic<std::uint64_t>>((last - file.first) / file.window + 1);
    files_.push_back(std::move(file));
  }
}

/// Calls each(file, window, bytes of `part` in it).
template <typename Each>
void ReadOnce::windows(wire::Bytes part, const Each& each) {
  auto file = std::upper_bound(files_.begin(), files_.end(), part.data(),
                               [](const std::byte* at, const File& f) { return at < f.bytes.data(); });
  if (part.empty() || file == files_.begin()) return;
  --file;
  std::uintptr_t at = address(part.data());
  const std::uintptr_t end = at + part.size();
  if (end > address(file->bytes.data()) + file->bytes.size()) return;
  while (at != end) {
    const std::size_t window = (at - file->first) / file->window;
    const std::uintptr_t next = std::min(end, file->first + (window + 1) * file->window);
    each(*file, window, next - at);
    at = next;
  }
}

void ReadOnce::expect(wire::Bytes part) {
  windows(part, [](File& file, std::size_t window, std::uint64_t bytes) { file.left[window] += bytes; });
}

void ReadOnce::read(wire::Bytes part) {
  windows(part, [](File& file, std::size_t window, std::uint64_t bytes) {
    if (file.left[window].fetch_sub(bytes) != bytes) return;
    const std::uintptr_t begin = std::max(file.first + window * file.window, address(file.bytes.data()));
    const std::uintptr_t end =
        std::min(file.first + (window + 1) * file.window, address(file.bytes.data()) + file.bytes.size());
    // Advice, which may go unheard.
    (void)madvise(const_cast<std::byte*>(file.bytes.data()) + (begin - address(file.bytes.data())), end - begin,
                  MADV_DONTNEED);
  });
}

}  // namespace ampc::emit
