// Why a node is what it is, link by link. Worked out afterwards from the plan and the rules: a compilation that is not
// asked for it pays nothing.
#pragma once

#include <string>
#include <vector>

#include "ampc/passes/plan.h"
#include "ampc/passes/rule_index.h"

namespace ampc {

/// One node on the way from a decision to what it rests on.
struct ChainLink {
  NodeId node = kNone;
  ValueId by = kNone;      // the value through which the next link decides; kNone at the end
  Span rule;               // the statement that decides here, where one does
  std::string fact;        // at the end of a chain without a rule: what of the schema or the model decides
  bool of_schema = false;  // the fact is the schema's
};

/// The last link has a rule or a fact.
std::vector<ChainLink> chain_of(const Model& m, const RuleIndex& rules, const Plan& plan, NodeId n);

/// A statement that names the node, its operator or its values, and decided nothing.
struct Loser {
  Span rule;
  std::string what;  // "deny", "node … keep fp32"
  std::string why;   // "its condition does not hold"
  Span condition;    // the condition that does not hold
};
std::vector<Loser> losers_of(const Model& m, const RuleIndex& rules, const Plan& plan, NodeId n);

/// What the schema says of each type variable: "T (A, B, Y) in fp16, fp32"; types that no variable has, too.
std::vector<std::string> schema_of(const Op& op);

}  // namespace ampc
