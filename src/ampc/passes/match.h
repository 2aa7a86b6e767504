// One pattern against the graph (R34): from its last step backwards, through producers.
#pragma once

#include <cstdint>
#include <vector>

#include "ampc/passes/rule_index.h"

namespace ampc {

/// A pattern as one model meets it: operators as this model has them, operands as positions.
struct BoundPattern {
  struct Argument {
    std::uint32_t position = 0;
    const lang::PatternRule::Argument* said = nullptr;
  };
  struct Call {
    OpId op = kNone;  // kNone: the model has none
    std::vector<Argument> arguments;
    const lang::PatternRule::Call* said = nullptr;
  };
  const lang::PatternRule* rule = nullptr;
  std::vector<std::vector<Call>> steps;

  BoundPattern(const lang::PatternRule& pattern, const Model& m);
  /// Whether the model has the operators that it takes.
  bool possible() const;
  const std::vector<Call>& root() const { return steps[rule->root]; }

 private:
  static Call bind(const lang::PatternRule::Call& said, OpId op, const Model& m);
};

/// The nearest that an attempt came to a match: what a pattern that is found nowhere is told by.
struct NearMiss {
  std::size_t steps = 0;  // that matched, together
  NodeId root = kNone;
  std::uint32_t failed = 0;  // the step that did not
};

/// Matches one pattern at one node after another. Its memory is used again.
class Matcher {
 public:
  Matcher(const BoundPattern& pattern, const Model& m, const RuleIndex& rules);

  /// Whether the pattern's last step is `root` and the others are what it is computed from.
  bool at(NodeId root, NearMiss* near = nullptr);
  /// Whether the last call of at() ended before every way to match was tried: there were too many.
  bool gave_up() const { return gave_up_; }
  /// Of the last match: its nodes in order, and the values that stand for parameters.
  std::vector<NodeId> nodes() const;
  std::vector<ValueId> given() const;

 private:
  struct Goal {
    std::uint32_t value = 0;
    ValueId at = kNone;
  };

  bool solve(std::size_t goal);
  bool step(std::uint32_t s, ValueId v, std::size_t next);
  bool call(const BoundPattern::Call& c, std::uint32_t s, NodeId n, std::size_t next);
  bool takes(const BoundPattern::Call& c, NodeId n) const;
  bool operands(const BoundPattern::Call& c, std::span<const ValueId> given, std::size_t next);
  bool add_goal(const lang::PatternRule::Argument& said, ValueId v);
  void bind_results(std::uint32_t s, NodeId n, bool bind);
  void note(std::uint32_t s);

  const BoundPattern& pattern_;
  const Model& m_;
  const RuleIndex& rules_;
  std::vector<ValueId> bound_;  // by value
  std::vector<NodeId> node_;    // by step
  std::vector<Goal> goals_;
  std::size_t tries_ = 0;
  bool gave_up_ = false;
  NearMiss* near_ = nullptr;
  NodeId root_ = kNone;
};

}  // namespace ampc
