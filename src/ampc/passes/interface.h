// R22: in which type the model's inputs and outputs are given and taken.
#pragma once

#include "ampc/passes/passes.h"

namespace ampc::passes {

class Interface {
 public:
  explicit Interface(const PassContext& c) : c_(c) {}

  /// The type under which a main input or output is known outside: its own, or low by `io low`.
  ElemType type_of(ValueId v) const {
    const Value& value = c_.model.values[v];
    if (!value.tensor || value.type != ElemType::float32) return value.type;
    lang::Io io = c_.rules.settings().io.value_or(lang::Io::keep);
    for (const auto& r : c_.rules.rules().io) {
      if (r.pattern.matches(value.name)) io = r.io;
    }
    if (c_.rules.rules().levels[c_.rules.model_options().level].off) io = lang::Io::keep;
    return io == lang::Io::low ? c_.plan.low : value.type;
  }

 private:
  const PassContext& c_;
};

}  // namespace ampc::passes
