// onnx's own registry of schemas, filled as it is asked for.
//
// onnx is built without static registration: constructing each of its schemas takes longer than compiling a small
// model does. What ampc decides by is in a table (schemas.h); the registry is for onnx's own functions.
#pragma once

#include <functional>

#include "ampc/model/schemas.h"

namespace onnx {
class OpSchema;
}

namespace ampc::onnx_registry {

/// onnx's schema of an operator; nullptr where the library has none. From any thread.
const onnx::OpSchema* find(const Signature& signature);

/// Registers every schema: for what looks operators up by itself (onnx's inliner, its checker). Once; from any thread.
void register_all();

/// Registers every schema, and calls `seen` with each.
void for_each(const std::function<void(const onnx::OpSchema&)>& seen);

}  // namespace ampc::onnx_registry
