// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ampc {

class MappedFile {
 public:
  MappedFile() = default;
  /// Maps `path`. Throws std::system_error where it cannot be opened or mapped; a folder is EISDIR. An empty file is an
  /// empty range.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// The open file, for copies within the kernel; -1 where there is none.
  int fd() const { return fd_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace ampc
