// R8: weights behind what exporters put between them and their readers.
#pragma once

#include "ampc/passes/access.h"

namespace ampc {

/// The operand that the node `n` passes on: it is the only one that shares the result's type variable, and the others
/// are constants (Identity, Transpose, Reshape to a constant shape, a Cast). kNone where there is no such operand.
inline ValueId passed_on(const Model& m, NodeId n) {
  const Op& op = m.op_of(n);
  const auto operands = m.operands_of(n);
  const auto results = m.results_of(n);
  if (op.signature == nullptr || !m.bodies_of(n).empty() || results.size() != 1 || operands.empty()) return kNone;
  const int var = op.is_cast ? operand_var(op, 0) : result_var(op, 0);
  if (var == kNoTypeVar) return kNone;
  ValueId data = kNone;
  for (std::size_t slot = 0; slot < operands.size(); ++slot) {
    if (operands[slot] == kNone) continue;
    if (operand_var(op, slot) == var) {
      if (data != kNone) return kNone;
      data = operands[slot];
    } else if (!is_weight(m.values[operands[slot]])) {
      return kNone;
    }
  }
  return data;
}

/// The weight from which alone `v` is computed, one operand at a time; `v` itself where it is one. kNone where there is
/// none.
inline ValueId weight_behind(const Model& m, ValueId v) {
  for (int steps = 0; v != kNone && steps < 32; ++steps) {
    const Value& value = m.values[v];
    if (is_weight(value)) return v;
    if (value.producer == kNone) return kNone;
    v = passed_on(m, value.producer);
  }
  return kNone;
}

}  // namespace ampc
