// Model-local functions (R29).
#pragma once

#include "ampc/model/model.h"

namespace ampc::functions {

/// Expands every call of a model-local function: a body has no types of its own, a call has. Functions that onnx's
/// inliner cannot expand stay, with a warning; their calls are then operators without schema.
void inline_all(Model& m, Diagnostics& diagnostics);

}  // namespace ampc::functions
