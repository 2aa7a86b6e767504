// R29: model-local functions.
//
// A function's body has no types of its own, so it is looked at where it is called: each call gets a copy of the body,
// as the body of a control-flow node that runs once and reads its operands by the caller's names. To the passes it is a
// block like any other. emit/collapse.h makes functions of those bodies again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ampc/diag/diagnostic.h"
#include "ampc/model/model.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace ampc::functions {

/// Puts a copy of its function's body into every call. Reports calls that have no end, or more operands than the
/// function takes.
void expand_calls(Model& m, Diagnostics& diagnostics);

/// The attribute that holds the copy; nullptr for a node that is no call. Its `i` is the index into Model::calls.
const onnx::AttributeProto* body_attribute(const onnx::NodeProto& node);
onnx::AttributeProto* body_attribute(onnx::NodeProto& node);

/// What expand_calls made of this call.
onnx::GraphProto body_of(const FunctionCall& call);

/// Names in the body of a call: what the function calls `name`.
std::string inner_name(const FunctionCall& call, std::string_view name);

}  // namespace ampc::functions
