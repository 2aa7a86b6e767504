// Results of earlier runs in a folder that many runs share, at the same time too.
//
// An entry is a file of its own: the bytes, and behind them a trailer that tells their number, their hash and the name
// under which they were kept. It appears whole, by a rename; one that was damaged afterwards is known by its trailer,
// and removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "ampc/emit/output_file.h"
#include "ampc/model/mapped_file.h"

namespace ampc::emit {

class CacheFolder {
 public:
  /// Entries of this version of the format, in a folder of their own below `path`, which is made where it is not there;
  /// of at most `limit` bytes together once trim() has been called. Throws IoError.
  CacheFolder(const std::string& path, std::uint64_t limit);

  struct Entry {
    MappedFile file;
    std::span<const std::byte> bytes;  // from the file's first one on
  };
  /// Nothing where there is none, or a damaged one. It counts as used now. From any thread.
  std::optional<Entry> find(const std::string& name);

  /// Keeps `size` bytes, which `write` writes to the beginning of the file that it is given. From any thread. Throws
  /// IoError, and what `write` throws.
  void put(const std::string& name, std::uint64_t size, const std::function<void(OutputFile&)>& write);

  /// Removes the entries that were not used for longest, until the others keep the limit, and what killed runs left.
  void trim() const;

  std::uint64_t damaged() const { return damaged_; }  // entries that were found so

 private:
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  std::uint64_t limit_;
  std::atomic<std::uint64_t> damaged_{0};
};

}  // namespace ampc::emit
