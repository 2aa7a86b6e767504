// onnx's own inference function of one node, for the results that type variables alone don't give.
#pragma once

#include <functional>
#include <vector>

#include "ampc/model/model.h"

namespace ampc {

struct InferredType {
  ElemType type = ElemType::undefined;  // of a dense tensor
  bool tensor = true;                   // false for a sequence, an optional, a map or a sparse tensor
  std::int32_t rank = -1;
  const onnx::TypeProto* full = nullptr;  // of what is no dense tensor; lives as long as the model
};

/// Runs the inference function of the node's schema. `type_of` gives the element type that an operand has (or would
/// have); `proto` may be a changed copy of the node's message. The result has one entry a result; all unknown where
/// onnx has no function or the function refuses.
std::vector<InferredType> infer_node(const Model& m, NodeId n, const onnx::NodeProto& proto,
                                     const std::function<ElemType(ValueId)>& type_of);

}  // namespace ampc
