// Lets go of the pages of mapped inputs once everything that is read of them has been: a process need not be as large
// as its input.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ampc/model/wire.h"

namespace ampc::emit {

/// Counts what is still to be read in windows of some MiB, and lets go of each when nothing is. Calls for each part
/// that was read would cost more than they bring: every one interrupts the other threads.
class ReadOnce {
 public:
  /// Mapped files; addresses outside them are no concern of it.
  explicit ReadOnce(std::vector<wire::Bytes> files);

  /// `part` will be read once. Not to be called beside read().
  void expect(wire::Bytes part);
  /// `part`, or a piece of it, has been read. Safe from several threads at once.
  void read(wire::Bytes part);

 private:
  struct File {
    wire::Bytes bytes;
    std::uintptr_t first = 0;                      // address of the first window: a multiple of `window`
    std::uintptr_t window = 0;                     // bytes, a power of two
    std::vector<std::atomic<std::uint64_t>> left;  // bytes, by window
  };

  template <typename Each>
  void windows(wire::Bytes part, const Each& each);

  std::vector<File> files_;  // by address
};

}  // namespace ampc::emit
