// A RuleSet as one model meets it: rules by operator, roles as operand positions, scopes by node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ampc/lang/rule_set.h"
#include "ampc/model/model.h"
#include "ampc/weights/caster.h"

namespace ampc {

/// What is in force at a node.
struct Options {
  std::uint32_t level = 0;
  ElemType dtype = ElemType::float16;
  bool promote = false;
  lang::FollowMode follow = lang::FollowMode::any;
  lang::Gray gray = lang::Gray::local;
};

/// Two scopes of one rank that set something differently for one node.
struct ScopeConflict {
  lang::ScopeId first = 0, second = 0;
  NodeId node = kNone;
  std::string_view what;  // the setting
};

/// A role of one operator with its operands as bits of positions (from 0; the last bit stands for all beyond).
struct BoundRole {
  const lang::RoleRule* rule = nullptr;
  std::uint64_t positions = 0;
  bool has(std::size_t position) const { return ((positions >> (position < 63 ? position : 63)) & 1U) != 0; }
};

class RuleIndex {
 public:
  /// `overrides` are the command line's settings.
  RuleIndex(const lang::RuleSet& rules, const lang::Settings& overrides, const Model& model);

  const lang::RuleSet& rules() const { return rules_; }
  const Options& options(NodeId n) const { return scope_options_[scope_of_.empty() ? 0 : set_of_node(n)]; }
  const lang::Level& level(NodeId n) const { return rules_.levels[options(n).level]; }
  const Options& model_options() const { return scope_options_[0]; }
  const lang::Settings& settings() const { return settings_; }

  /// List rules of the operator, or of the function that is called, that may hold at its nodes (predicates not looked
  /// at).
  const std::vector<const lang::OpRule*>& op_rules(OpId op) const { return op_rules_[op]; }
  /// Whether some list names a model-local function.
  bool lists_functions() const { return lists_functions_; }
  const std::vector<BoundRole>& operand_roles(OpId op) const { return operand_roles_[op]; }
  const std::vector<BoundRole>& result_roles(OpId op) const { return result_roles_[op]; }
  bool bounded(OpId op) const { return bounded_[op] != 0; }
  /// The statement that says so; nullptr where there is none.
  const lang::FactRule* collective(OpId op) const { return collectives_[op]; }
  const lang::OptimizerRule* optimizer(OpId op) const { return optimizers_[op]; }
  bool commutes(OpId op) const { return commutes_[op] != 0; }
  bool moves(OpId op) const { return moves_[op] != 0; }

  /// The rank of the rule's scope among those that hold at `n`: a scope comes before the one that it stands in, a range
  /// of nodes before a range around it. -1 where it does not hold there.
  int scope_depth(lang::ScopeId scope, NodeId n) const;
  bool guarded(NodeId n) const { return guards_.empty() || guards_[n] != 0; }
  bool guard_matches(const Model& m, const lang::GuardRule& guard, NodeId n) const;
  /// Whether some node is in the scope.
  bool scope_used(lang::ScopeId scope) const;
  const std::vector<ScopeConflict>& conflicts() const { return conflicts_; }
  bool has_guards() const { return !rules_.guards.empty(); }

  /// The node's scope: metadata_props of exporters, else the path part of its name.
  static std::string path_of(const Model& m, NodeId n);

 private:
  std::uint32_t set_of_node(NodeId n) const { return scope_of_[n]; }
  void bind_ops(const Model& m);
  void bind_scopes(const Model& m);
  bool in_scope(const Model& m, lang::ScopeId scope, NodeId n, const std::string& path) const;
  void rank_scopes();
  Options merge(std::vector<lang::ScopeId> scopes, NodeId n);

  const lang::RuleSet& rules_;
  lang::Settings settings_;
  std::vector<std::vector<const lang::OpRule*>> op_rules_;
  bool lists_functions_ = false;
  std::vector<std::vector<BoundRole>> operand_roles_, result_roles_;
  std::vector<std::uint8_t> bounded_, commutes_, moves_;
  std::vector<const lang::FactRule*> collectives_;
  std::vector<const lang::OptimizerRule*> optimizers_;
  std::vector<std::uint32_t> scope_of_;                 // by NodeId: index into scope_sets_; empty without scopes
  std::vector<std::vector<lang::ScopeId>> scope_sets_;  // which scopes hold, outer first
  std::vector<Options> scope_options_;                  // by scope set
  std::vector<std::uint8_t> guards_;                    // by NodeId; empty without guards
  std::vector<int> ranks_;                              // by ScopeId
  std::vector<ScopeConflict> conflicts_;
};

/// Whether the predicate of a rule holds at a node.
bool holds(const lang::Predicate& p, const Model& m, NodeId n);
/// Whether a weight's values are as a rule asks.
bool holds(const lang::WeightTest& test, const weights::Stats& stats);

/// The position of an operand or a result that a rule names, at the model's version of the operator; -1 where it has
/// none.
int position_of(const lang::OperandRef& ref, const std::vector<Formal>& formals);

}  // namespace ampc
