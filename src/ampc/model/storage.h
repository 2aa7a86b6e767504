// What stands behind a Model: the mapped files and the arena of the parsed message.
#pragma once

#include <deque>
#include <string>

#include <google/protobuf/arena.h>

#include "ampc/model/mapped_file.h"
#include "ampc/model/model.h"

namespace ampc {

struct Model::Storage {
  MappedFile file;
  std::deque<MappedFile> external;
  google::protobuf::Arena arena;
  std::string skeleton;
};

}  // namespace ampc
