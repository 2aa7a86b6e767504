#include <algorithm>
#include <numeric>

#include "ampc/lang/ast.h"
#include "ampc/lang/declare.h"
#include "ampc/lang/draft.h"

namespace ampc::lang {

namespace {

// Scopes in the order of what they say, a parent before its children: the order of statements does not show.
void sort_scopes(Draft& draft) {
  const std::size_t n = draft.rules.scopes.size();
  std::vector<ScopeId> order(n);
  std::iota(order.begin(), order.end(), ScopeId{0});
  // A parent's key is a prefix of its children's, so it comes first.
  std::sort(order.begin(), order.end(),
            [&](ScopeId a, ScopeId b) { return draft.scope_keys[a] < draft.scope_keys[b]; });
  std::vector<ScopeId> renamed(n);
  for (std::size_t i = 0; i < n; ++i) renamed[order[i]] = static_cast<ScopeId>(i);
  std::vector<Scope> scopes;
  for (const ScopeId old : order) {
    scopes.push_back(std::move(draft.rules.scopes[old]));
    scopes.back().parent = renamed[scopes.back().parent];
  }
  draft.rules.scopes = std::move(scopes);
  const auto rename = [&](auto& list) {
    for (auto& rule : list) rule.scope = renamed[rule.scope];
  };
  rename(draft.rules.ops);
  rename(draft.rules.roles);
  rename(draft.rules.tensors);
  rename(draft.rules.nodes);
  rename(draft.rules.patterns);
  rename(draft.rules.weights);
}

// Stable, by a key that is made once for each: some are texts.
template <typename Rule, typename Key>
void sort_by(std::vector<Rule>& list, Key key) {
  std::vector<std::pair<decltype(key(list.front())), std::size_t>> order;
  order.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) order.emplace_back(key(list[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<Rule> sorted;
  sorted.reserve(list.size());
  for (const auto& entry : order) sorted.push_back(std::move(list[entry.second]));
  list = std::move(sorted);
}

// Every list in the order of what it says.
void sort_rules(RuleSet& rules) {
  using Text = std::string_view;
  const auto when = [](const When& w) { return std::tuple(w.levels, w.fp16, w.bf16); };
  const auto op = [](const OpName& name) { return std::pair(Text(name.domain), Text(name.name)); };
  const auto pattern = [](const auto& r) { return std::pair(r.pattern.is_regex(), Text(r.pattern.text())); };
  sort_by(rules.ops, [&](const OpRule& r) {
    return std::tuple(r.scope, op(r.op), r.verdict, when(r.when), r.where ? print(*r.where) : std::string());
  });
  sort_by(rules.roles, [&](const RoleRule& r) {
    std::string operands;
    for (const OperandRef& ref : r.operands) operands += print(ref) + ",";
    for (const std::string& attribute : r.attributes) operands += attribute + ",";
    return std::tuple(r.scope, op(r.op), r.results, r.action, when(r.when), r.every, std::move(operands));
  });
  sort_by(rules.facts, [&](const FactRule& r) { return std::pair(r.fact, op(r.op)); });
  sort_by(rules.optimizers, [](const OptimizerRule& r) { return print(r); });
  sort_by(rules.patterns,
          [&](const PatternRule& r) { return std::tuple(r.scope, Text(r.name), when(r.when), print(r)); });
  sort_by(rules.tensors, [&](const TensorRule& r) { return std::tuple(r.scope, pattern(r)); });
  sort_by(rules.nodes, [&](const NodeRule& r) { return std::tuple(r.scope, pattern(r)); });
  sort_by(rules.guards, pattern);
  sort_by(rules.backward, [&](const BackwardRule& r) { return std::pair(pattern(r), Text(r.doc)); });
  sort_by(rules.io, pattern);
  sort_by(rules.weights, [](const WeightRule& r) {
    return std::tuple(r.scope, r.pattern ? Text(r.pattern->text()) : Text(), r.where ? print(*r.where) : std::string());
  });
}

}  // namespace

std::optional<std::uint32_t> RuleSet::level(std::string_view name) const {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].name == name) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

std::optional<RuleSet> compile(const std::string& path, const CompileOptions& options, SourceMap& sources,
                               Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.errors();
  const Program program = load(path, options, sources, diagnostics);
  if (program.units.empty()) return std::nullopt;
  const std::shared_ptr<const Operators> operators = declare(program, diagnostics);
  const Names names(program, *operators, options, diagnostics);
  Draft draft = resolve(program, names, diagnostics);
  draft.rules.operators = operators;
  settle_rules(draft, program, diagnostics);
  settle_patterns(draft, program, diagnostics);
  settle_names(draft, program, diagnostics);
  settle_training(draft, diagnostics);
  settle_settings(draft, program, diagnostics);
  if (diagnostics.errors() != before) return std::nullopt;
  sort_scopes(draft);
  sort_rules(draft.rules);
  return std::move(draft.rules);
}

std::optional<std::string> dump_ast(const std::string& path, SourceMap& sources, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.errors();
  const auto file = load_one(path, sources, diagnostics);
  if (!file || diagnostics.errors() != before) return std::nullopt;
  return ast::print(*file);
}

}  // namespace ampc::lang
