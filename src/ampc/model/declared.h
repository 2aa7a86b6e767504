// A model's operators that onnx's schemas do not have, and what rule files declare of them.
#pragma once

#include <string>

#include "ampc/model/model.h"
#include "ampc/model/operators.h"

namespace ampc {

/// Gives operators that onnx's schemas do not have what is declared of them. Reports those that a domain with schemas
/// has not got and nobody declares; false where there are any.
bool bind_declared(Model& model, const Operators& operators, Diagnostics& diagnostics);

/// How a node contradicts what is declared of its operator, in words; empty where it does not. A declaration is a
/// person's word: it is held against the types that the model shows, and overrules none of them.
std::string contradiction(const Model& model, NodeId node);

}  // namespace ampc
