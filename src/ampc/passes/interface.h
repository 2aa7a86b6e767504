// R19, R22: in which type inputs and outputs of the model and of bodies are given and taken.
#pragma once

#include "ampc/model/default_domain.h"
#include "ampc/model/special_ops.h"
#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {

class Interface {
 public:
  explicit Interface(const PassContext& c) : c_(c), casts_(has_casts(c.model, c.plan.low)) {}

  /// The type under which a main input or output is known outside: its own, or low by `io low`.
  ElemType type_of(ValueId v) const {
    const Value& value = c_.model.values[v];
    if (!value.tensor || value.type != ElemType::float32) return value.type;
    if (c_.plan.training.is_held(v) || c_.plan.training.scale(v)) return value.type;  // R27
    if (is_weight(value) && c_.plan.kept[v] != 0) return value.type;                  // a value that would change (R25)
    // What a tensor rule keeps stays so here too: no cast may stand between the name and what touches it.
    for (const auto& r : c_.rules.rules().tensors) {
      if (r.action == lang::TensorAction::keep_fp32 && r.pattern.matches(value.name)) return value.type;
    }
    lang::Io io = c_.rules.settings().io.value_or(lang::Io::keep);
    bool named = false;
    for (const auto& r : c_.rules.rules().io) {
      if (!r.pattern.matches(value.name)) continue;
      if (!named || r.io == lang::Io::keep) io = r.io;  // of two that match, `keep` wins
      named = true;
    }
    return io == lang::Io::low && c_.plan.any_low && casts_ ? c_.plan.low : value.type;
  }

  /// The type in which a block gives its output at `index` out.
  ElemType output_type(BlockId b, std::size_t index) const {
    const Block& block = c_.model.blocks[b];
    if (b == 0) return type_of(block.outputs[index]);
    const auto results = c_.model.results_of(block.owner);
    const Op& op = c_.model.op_of(block.owner);
    const std::size_t skip = special::leading_body_outputs(op.domain, op.name);
    if (index >= skip && index - skip < results.size() && results[index - skip] != kNone &&
        c_.plan.low_results[results[index - skip]] != 0) {
      return c_.rules.options(block.owner).dtype;
    }
    return c_.model.values[block.outputs[index]].type;
  }

 private:
  const PassContext& c_;
  bool casts_;  // the model's opset has casts to and from its low type
};

}  // namespace ampc::passes
