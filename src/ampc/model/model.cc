#include "ampc/model/model.h"

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/model/storage.h"

namespace ampc {

Model::Model() : storage(std::make_unique<Storage>()) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

ValueId Model::find(BlockId block, std::string_view name) const {
  for (; block != kNone; block = blocks[block].parent) {
    if (const ValueId v = blocks[block].names.find(name); v != NameTable::kAbsent) return v;
  }
  return kNone;
}

bool Model::encloses(BlockId outer, BlockId block) const {
  while (blocks[block].depth > blocks[outer].depth) block = blocks[block].parent;
  return block == outer;
}

std::string Model::describe(NodeId n) const {
  const Node& node = nodes[n];
  if (!node.proto->name().empty()) return fmt::format("node '{}' ({})", node.proto->name(), node.proto->op_type());
  const Block& b = blocks[node.block];
  return fmt::format("node {} of {} ({})", n - b.first, b.path, node.proto->op_type());
}

onnx::AttributeProto* Model::attribute(NodeId n, std::string_view name) const {
  for (auto& a : *nodes[n].proto->mutable_attribute()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

std::vector<std::string> Model::changed_files() const {
  std::vector<std::string> paths;
  if (storage->file.changed()) paths.push_back(storage->file.path());
  for (const MappedFile& f : storage->external) {
    if (f.changed()) paths.push_back(f.path());
  }
  return paths;
}

}  // namespace ampc
