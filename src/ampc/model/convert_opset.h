// R5: the model at a newer opset, by onnx's version converter, where the user asks for it.
#pragma once

#include "ampc/model/model.h"

namespace ampc {

/// Brings `m.proto` to `opset` of ONNX's own domain; as it is where it has that already. Weights stay payloads.
/// Reports, and gives false, where the opset is older than the model's or unknown, where the converter fails, and where
/// the model holds what the converter would lose (functions, sparse weights in bodies).
bool convert_opset(Model& m, int opset, Diagnostics& diagnostics);

}  // namespace ampc
