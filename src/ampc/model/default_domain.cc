#include "ampc/model/default_domain.h"

#include <algorithm>
#include <array>

#include "onnx/onnx_pb.h"

#include "ampc/model/schemas.h"
#include "ampc/model/special_ops.h"

namespace ampc {

int default_opset(const Model& m) {
  for (const auto& i : m.proto->opset_import()) {
    if (i.domain().empty() || i.domain() == "ai.onnx") return static_cast<int>(i.version());
  }
  // The newest opset that went with each IR version (onnx's versioning table), 3 first.
  static constexpr std::array<int, 11> kOpsets{8, 9, 10, 11, 14, 18, 20, 22, 23, 25, 26};
  const auto ir = static_cast<std::size_t>(std::clamp<std::int64_t>(m.proto->ir_version() - 3, 0, kOpsets.size() - 1));
  return kOpsets[ir];
}

bool has_casts(const Model& m, ElemType type) {
  const Signature* s = Schemas::get().find({}, special::kCast, default_opset(m));
  return s != nullptr && s->inputs.front().elems.contains(type) && s->outputs.front().elems.contains(type);
}

}  // namespace ampc
