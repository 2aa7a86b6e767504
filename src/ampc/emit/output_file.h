// A file that appears whole or not at all: written under another name in the same folder, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace ampc {

/// A file that could not be read or written. what() is "PATH: MESSAGE: TEXT OF THE CODE".
class IoError : public std::runtime_error {
 public:
  IoError(std::string path, int code, std::string message);
  const std::string& path() const { return path_; }        // as the user gave it
  int code() const { return code_; }                       // an errno
  const std::string& message() const { return message_; }  // what was being done: "cannot write"

 private:
  std::string path_;
  int code_;
  std::string message_;
};

namespace emit {

namespace temporary {
struct Removal;
}

/// A target that is a symbolic link is written through to what it points at. A target that exists keeps its mode; one
/// that is a folder, no regular file, or not writable is refused. Until commit() the target is not touched; whatever
/// ends the run before it, SIGINT, SIGTERM and SIGHUP among that, the temporary file is removed (temporary_file.h).
class OutputFile {
 public:
  /// Creates the temporary file. Throws IoError.
  explicit OutputFile(std::string target);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Sets the size; bytes never written are zero. Throws IoError.
  void set_size(std::uint64_t size);
  /// Writes all of `bytes` at `offset`. Safe from several threads at once. Throws IoError.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

  /// Copies `size` bytes from `from` in the file `fd` to `to` without a way through memory. False where the two file
  /// systems know no such thing or `fd` cannot be read: then all of the bytes are to be written again. Safe from
  /// several threads at once. Throws IoError.
  bool copy_from(int fd, std::uint64_t from, std::uint64_t to, std::uint64_t size) const;

  /// Writes the first `size` bytes, from `from` on in another file that is being written. Throws IoError.
  void copy_from(const OutputFile& file, std::uint64_t from, std::uint64_t size) const;

  struct CommitOptions {
    bool write_if_changed = false;  // leave a target of the same bytes alone, its time of change included
    bool sync = false;              // wait until the disk holds the file and its name
  };
  enum class Outcome : std::uint8_t { written, unchanged };
  /// Puts the file in its place; to be called once, after the last write. Throws IoError, the target as it was.
  Outcome commit(const CommitOptions& options);
  Outcome commit() { return commit(CommitOptions{}); }

  /// Whether what was written is what the target holds already.
  bool equals_target() const;
  /// Gives the file up. The target stays as it is.
  void abandon() noexcept { discard(); }
  /// Changes places with the target, which must exist: what was there is under temporary() then, for the caller to
  /// remove. A hundred times faster than commit(), which frees what it replaces. False where the file system can't, and
  /// nothing has happened. Throws IoError.
  bool exchange();
  /// Closes the file and leaves it under its temporary name, for the caller to care for. Throws IoError.
  void keep();

  /// Where the file goes, links followed.
  const std::string& target() const { return target_; }
  /// The temporary file's path, for as long as there is one.
  const std::string& temporary() const { return temporary_; }

 private:
  [[noreturn]] void fail(int code, std::string message) const;
  void discard() noexcept;

  std::string given_;   // the target as the user gave it
  std::string target_;  // links followed
  std::string temporary_;
  temporary::Removal* removal_ = nullptr;
  int fd_ = -1;
  int lock_ = -1;  // keeps other runs from taking the temporary file for a dead one, until it has its name
};

}  // namespace emit
}  // namespace ampc
