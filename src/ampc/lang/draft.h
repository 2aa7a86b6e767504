// Between syntax and RuleSet: resolved statements that still know their file, before overrides and contradictions.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "ampc/lang/names.h"
#include "ampc/lang/program.h"
#include "ampc/lang/rule_set.h"

namespace ampc::lang {

struct OpEntry {
  OpRule rule;
  std::string where;  // the predicate as text, to compare two
  std::size_t unit = 0;
  bool overriding = false;
  bool sealed = false;  // no importing file may replace it
  bool through_alias = false;
  Span statement;  // its first word
};

struct RoleEntry {
  RoleRule rule;
  Target target;
  std::size_t unit = 0;
  bool overriding = false;
  bool sealed = false;  // no importing file may replace it
  Span statement;
};

struct PatternEntry {
  PatternRule rule;
  std::size_t unit = 0;
  bool overriding = false;
  bool sealed = false;  // no importing file may replace it
  bool off = false;     // `override pattern NAME off`
  Span statement;
};

struct SettingEntry {
  ScopeId scope = kWholeModel;
  ast::Word key;
  ast::Word value;
  std::size_t unit = 0;
};

struct Draft {
  RuleSet rules;  // all but ops, roles, patterns and settings
  std::vector<OpEntry> ops;
  std::vector<RoleEntry> roles;
  std::vector<PatternEntry> patterns;
  std::vector<SettingEntry> settings;
  std::vector<std::string> scope_keys;  // of rules.scopes: equal for equal scopes, a parent's is a prefix
};

/// Resolves every statement of every unit.
Draft resolve(const Program& program, const Names& names, Diagnostics& diagnostics);

/// Resolves a `where` clause for one operator; reports and returns nothing where it makes no sense there.
std::optional<Predicate> resolve_predicate(const ast::Predicate& predicate, const Target& target, const Names& names,
                                           Diagnostics& diagnostics);

/// Carries out overrides and reports contradictions; fills ops and roles of the draft's rules.
void settle_rules(Draft& draft, const Program& program, Diagnostics& diagnostics);

/// Reports what goes round statements that another file seals.
void check_seals(const Draft& draft, const Program& program, Diagnostics& diagnostics);

/// The operands that a role is about, under the names of the newest version that has them; "#2" where there is no name.
std::set<std::string> operands_of(const RoleEntry& entry);
/// Whether an operand cannot have both.
bool excludes(RoleAction a, RoleAction b);

/// Carries out overrides of patterns and reports names that are given twice; fills the draft's patterns.
void settle_patterns(Draft& draft, const Program& program, Diagnostics& diagnostics);

/// Reports contradictions among rules of names (tensor, node, weight, io) and drops what is said twice.
void settle_names(Draft& draft, const Program& program, Diagnostics& diagnostics);

/// Reports operators that are optimizers in two ways, and drops what is said twice of training graphs.
void settle_training(Draft& draft, Diagnostics& diagnostics);

/// Reports contradictions among settings; fills the scopes' settings.
void settle_settings(Draft& draft, const Program& program, Diagnostics& diagnostics);

/// The same predicate prints the same text.
std::string print(const Predicate& predicate);
std::string print(const OperandRef& operand);
std::string print(const OptimizerRule& rule);
/// In one line, without what stands before the name.
std::string print(const PatternRule& pattern);

/// Whether there is a level and a type for which both hold.
bool overlap(const When& a, const When& b);
/// What is left of a without b: other levels, and the same levels in the other type.
std::vector<When> without(const When& a, const When& b);
std::string print(const WeightTest& test);

}  // namespace ampc::lang
