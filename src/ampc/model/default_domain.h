// The opset of ONNX's own domain, to which the casts belong that the compiler adds.
#pragma once

#include "ampc/model/elem_type.h"
#include "ampc/model/model.h"

namespace ampc {

/// The version that the model imports; of a model of other domains alone, the newest that went with its IR version.
int default_opset(const Model& m);

/// Whether that opset has casts to and from the type (R4): to bf16 from opset 13 on.
bool has_casts(const Model& m, ElemType type);

}  // namespace ampc
