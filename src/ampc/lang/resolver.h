// Statements to rules, one kind at a time. Private to resolve*.cc.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ampc/lang/draft.h"

namespace ampc::lang {

/// Where a statement stands.
struct Context {
  std::size_t unit = 0;
  ScopeId scope = kWholeModel;
  std::optional<std::uint32_t> level;  // in a level's body
  std::string_view inside;             // "", "a scope", "a block", "a level"
  bool again = false;                  // in a second definition of a level, which was reported
  bool open = false;                   // in a body whose brace is missing, which was reported
};

class Resolver {
 public:
  Resolver(const Program& program, const Names& names, Diagnostics& diagnostics);
  Draft run();

 private:
  static const ast::Setting* headless_level(const ast::Statement& s, const ast::Statement& next);
  void collect_levels();
  std::optional<std::uint32_t> level(const ast::Word& name);
  void statements(const std::vector<ast::Statement>& list, const Context& context);
  // Reports a statement that cannot stand in this context.
  bool only_in_file(const ast::Statement& s, const Context& context, std::string_view what);
  bool not_in_level(const ast::Statement& s, const Context& context, std::string_view what);
  void statement(const ast::Version&, const ast::Statement& s, const Context& context);
  void statement(const ast::Import&, const ast::Statement& s, const Context& context);
  void statement(const ast::Alias&, const ast::Statement& s, const Context& context);
  void statement(const ast::Extern&, const ast::Statement& s, const Context& context);
  void statement(const ast::Setting& n, const ast::Statement& s, const Context& context);
  bool allowed(const ast::Word& word, const std::string& what, const std::vector<std::string>& values);
  // What stands after `keep` and `store`.
  bool is_fp32(const ast::Word& type);
  std::optional<NamePattern> pattern(const ast::Pattern& p);
  void statement(const ast::IoRule& n, const ast::Statement& s, const Context& context);
  void statement(const ast::LevelDefinition& n, const ast::Statement& s, const Context& context);
  void statement(const ast::LevelPart& n, const ast::Statement& s, const Context& context);

  // resolve_operators.cc
  std::optional<When> when(const ast::Qualifiers& q, const Context& context);
  void statement(const ast::List& n, const ast::Statement& s, const Context& context);
  static bool is_follow_mode(const ast::List& n);
  // Does some version of the operator take or make this type where it also takes fp32?
  static bool lowers(const Target& target, ElemType low);
  static void show_declaration(Diagnostic& d, const Target& target);
  void check_lowerable(const Target& target, const ast::Qualifiers& q, Span span);
  void statement(const ast::Fact& n, const ast::Statement& s, const Context& context);
  void statement(const ast::Role& n, const ast::Statement& s, const Context& context);
  static bool is_attribute(const Target& target, const ast::Role& n, const ast::Operand& operand);
  static const OperandRef* named_already(const RoleEntry& entry, const OperandRef& ref);
  static bool excepts_all(const Target& target, const RoleRule& rule);
  // An alias for several operators: a parameter may stand for an operand of some of them only.
  static bool stands_elsewhere(const Target& target, const std::vector<Target>& targets, const ast::Operand& operand,
                               bool results);
  bool can_be_float(const Target& target, const OperandRef& ref, bool results, const ast::Operand& operand);

  // resolve_training.cc
  void statement(const ast::Optimizer& n, const ast::Statement& s, const Context& context);
  std::optional<OptimizerRule::Slot> slot(const ast::OptimizerOperand& n, const Target& target);
  void statement(const ast::Backward& n, const ast::Statement& s, const Context& context);
  // resolve_patterns.cc
  void statement(const ast::GraphPattern& n, const ast::Statement& s, const Context& context);
  bool pattern_action(const ast::GraphPattern& n, PatternRule* rule);

  // resolve_places.cc
  void statement(const ast::NameRule& n, const ast::Statement& s, const Context& context);
  void statement(const ast::WeightCondition& n, const ast::Statement& s, const Context& context);
  std::optional<WeightTest> weight_test(const ast::Predicate& p);
  std::optional<WeightTest> weight_comparison(const ast::Predicate& n);
  void statement(const ast::Scope& n, const ast::Statement& s, const Context& context);
  void statement(const ast::Block& n, const ast::Statement& s, const Context& context);
  // Equal scopes are one, wherever they are written.
  ScopeId enter(Scope scope, const std::string& own);

  const Program& program_;
  const Names& names_;
  Diagnostics& diagnostics_;
  Draft draft_;
  std::map<std::string, const ast::LevelDefinition*> levels_;
  std::set<std::string> lost_levels_;  // whose definition lacks a brace, which is reported
  std::map<std::string, ScopeId> scopes_;
  std::map<std::pair<std::uint32_t, std::string>, const ast::LevelPart*> level_parts_;
};

}  // namespace ampc::lang
