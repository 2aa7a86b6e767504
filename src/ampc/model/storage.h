// What stands behind a Model: the mapped files and the arena of the parsed message.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <google/protobuf/arena.h>

#include "ampc/model/mapped_file.h"
#include "ampc/model/model.h"

namespace ampc {

struct Model::Storage {
  MappedFile file;
  std::deque<MappedFile> external;
  google::protobuf::Arena arena;
  std::string skeleton;

  /// To be called when all files are there.
  void sort_files();
  /// The file that `part` is mapped from; null where it lies in memory of our own.
  const MappedFile* file_of(wire::Bytes part) const;
  /// Copies `part` to `into`. Of a file it is read past the mapping, of which a kernel may map 2 MiB for each byte that
  /// is touched.
  void copy(wire::Bytes part, std::byte* into) const;

 private:
  std::vector<const MappedFile*> by_address_;
};

}  // namespace ampc
