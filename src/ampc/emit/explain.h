// `ampc explain`: why a node, a value or a cast is what it is.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ampc/diag/diagnostic.h"
#include "ampc/passes/plan.h"
#include "ampc/passes/rule_index.h"

namespace ampc::emit {

/// One explanation each, as an object; explanation_text() is the same for people.
class Explainer {
 public:
  Explainer(const Model& m, const RuleIndex& rules, const Plan& plan, const SourceMap& sources)
      : m_(m), rules_(rules), plan_(plan), sources_(sources) {}

  /// The node's decision: chain to a rule or a fact, statements that lost, schema, operands and results.
  nlohmann::ordered_json node(NodeId n) const;
  /// Where the value comes from, in which type it lives and what reads it.
  nlohmann::ordered_json value(ValueId v) const;
  /// The edge that made the cast at `index` of the plan: what is cast, and for whom.
  nlohmann::ordered_json cast(std::size_t index) const;

 private:
  nlohmann::ordered_json place(const Span& span) const;
  nlohmann::ordered_json chain(NodeId n) const;
  nlohmann::ordered_json slot(ValueId v, const Formal* formal, std::size_t position) const;

  const Model& m_;
  const RuleIndex& rules_;
  const Plan& plan_;
  const SourceMap& sources_;
};

std::string explanation_text(const nlohmann::ordered_json& explanation);

}  // namespace ampc::emit
