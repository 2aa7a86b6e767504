// How the writing of a file is cut into tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ampc::emit {

/// Bytes of output that a task makes, more or less: they stay in the cache between cast and write.
inline constexpr std::uint64_t kTaskBytes = std::uint64_t{256} << 10;

/// How many of `left` bytes at `offset` of a file one task writes: up to a multiple of kTaskBytes. A write that begins
/// or ends within a page costs the kernel more, and keeps it from using large pages.
inline std::uint64_t part_size(std::uint64_t offset, std::uint64_t left) {
  const std::uint64_t size = kTaskBytes - offset % kTaskBytes;
  return size < left ? size : left;
}

/// Calls `task` for 0 to `count` - 1 in parallel, each thread taking the next in order: the file is read and written
/// from its begin to its end, whatever the number of threads.
void run_in_order(std::size_t count, const std::function<void(std::size_t)>& task);

}  // namespace ampc::emit
