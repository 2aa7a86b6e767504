// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ampc {

namespace read_faults {
struct Guard;
}

class MappedFile {
 public:
  MappedFile() = default;
  /// Maps `path`. Throws std::system_error where it cannot be opened or mapped; a folder is EISDIR, what else is no
  /// regular file is EINVAL. An empty file is an empty range. A fault of reading ends the process (read_faults.h).
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }  // as it was given
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// The open file, for copies within the kernel; -1 where there is none.
  int fd() const { return fd_; }
  /// Whether the file has been written to since it was mapped: its size or its time of change is another.
  bool changed() const;
  /// Drops whole pages of bytes [begin, end); they come back when they are read again.
  void let_go(std::size_t begin, std::size_t end) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;
  std::int64_t modified_ = 0;  // nanoseconds since 1970
  read_faults::Guard* guard_ = nullptr;
};

}  // namespace ampc
