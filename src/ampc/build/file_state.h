// What a file was when it was read, so that the next build can tell whether it is still the same.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace ampc::build {

struct FileState {
  std::string path;
  std::string hash;  // of its bytes (emit::content_hash)
  std::uint64_t size = 0, inode = 0;
  std::int64_t modified = 0, changed = 0;  // nanoseconds since 1970
  /// Size and times tell the file. False where it was changed in the very tick of the clock in which it was read: a
  /// later change of that tick would not show, and the bytes have to be looked at.
  bool settled = false;
  bool operator==(const FileState&) const = default;
};

/// The clock that files have their times by, in nanoseconds since 1970.
std::int64_t file_clock();

/// Looks at each file once in a build. Safe from several threads.
class Files {
 public:
  /// Its state, with the hash; nothing where it cannot be read.
  std::optional<FileState> state(const std::string& path);
  /// Whether the file has the bytes that it had. `now` is its state as it is, where that was looked at.
  bool same(const FileState& before, std::optional<FileState>& now);
  bool exists(const std::string& path);
  /// The state as it is now, whatever was seen before. Nothing also where the file has been changed since `start`: what
  /// was read of it between may have been something else.
  std::optional<FileState> anew(const std::string& path, std::int64_t start);

 private:
  struct Entry {
    std::optional<FileState> look;  // without the hash
    bool hashed = false;
  };
  Entry& look(const std::string& path);

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace ampc::build
