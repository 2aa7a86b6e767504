#include "ampc/passes/rule_index.h"

#include <algorithm>
#include <map>

#include "onnx/onnx_pb.h"

namespace ampc {
namespace {

BoundRole bind_role(const lang::RoleRule& rule, const std::vector<Formal>& formals) {
  std::uint64_t named = 0;
  for (const auto& ref : rule.operands) {
    const int p = position_of(ref, formals);
    if (p < 0) continue;
    named |= std::uint64_t{1} << std::min(p, 63);
    // A role of a variadic operand holds for all of them.
    const auto at = static_cast<std::size_t>(p);
    if (ref.position < 0 && at < formals.size() && formals[at].variadic) named |= ~std::uint64_t{0} << at;
  }
  BoundRole role;
  role.rule = &rule;
  role.positions = rule.except ? ~named : rule.every ? ~std::uint64_t{0} : named;
  return role;
}

}  // namespace

int position_of(const lang::OperandRef& ref, const std::vector<Formal>& formals) {
  if (ref.position >= 0) return ref.position;
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (formals[i].name == ref.name) return static_cast<int>(i);
  }
  return -1;
}

RuleIndex::RuleIndex(const lang::RuleSet& rules, const lang::Settings& overrides, const Model& model) : rules_(rules) {
  settings_ = rules.scopes.empty() ? lang::Settings{} : rules.scopes[0].settings;
  const auto take = [](auto& into, const auto& from) {
    if (from) into = from;
  };
  take(settings_.dtype, overrides.dtype);
  take(settings_.level, overrides.level);
  take(settings_.promote, overrides.promote);
  take(settings_.follow, overrides.follow);
  take(settings_.gray, overrides.gray);
  take(settings_.io, overrides.io);
  take(settings_.overflow, overrides.overflow);
  take(settings_.underflow, overrides.underflow);
  take(settings_.shared, overrides.shared);
  take(settings_.functions, overrides.functions);
  take(settings_.master, overrides.master);
  take(settings_.on_conflict, overrides.on_conflict);
  take(settings_.rewrite_creators, overrides.rewrite_creators);
  take(settings_.rewrite_moved, overrides.rewrite_moved);
  take(settings_.rewrite_redundant, overrides.rewrite_redundant);
  bind_ops(model);
  bind_scopes(model);
}

void RuleIndex::bind_ops(const Model& m) {
  op_rules_.resize(m.ops.size());
  operand_roles_.resize(m.ops.size());
  result_roles_.resize(m.ops.size());
  bounded_.resize(m.ops.size());
  collectives_.resize(m.ops.size());
  optimizers_.resize(m.ops.size());
  commutes_.resize(m.ops.size());
  moves_.resize(m.ops.size());
  // A function may import another version of a domain than the model, so an operator can be there more than once.
  std::multimap<lang::OpName, OpId> ids, functions;
  for (OpId op = 0; op < m.ops.size(); ++op) {
    (m.ops[op].is_call ? functions : ids)
        .emplace(lang::OpName{std::string(m.ops[op].domain), std::string(m.ops[op].name)}, op);
  }
  const auto each = [&](const lang::OpName& name, const auto& act) {
    const auto [first, last] = ids.equal_range(name);
    for (auto at = first; at != last; ++at) act(at->second);
  };
  for (const auto& rule : rules_.ops) {
    each(rule.op, [&](OpId op) { op_rules_[op].push_back(&rule); });
    const auto [first, last] = functions.equal_range(rule.op);
    for (auto at = first; at != last; ++at) op_rules_[at->second].push_back(&rule);
    lists_functions_ = lists_functions_ || first != last;
  }
  for (const auto& rule : rules_.roles) {
    each(rule.op, [&](OpId op) {
      const Signature* s = m.ops[op].signature;
      static const std::vector<Formal> none;
      if (rule.results) {
        result_roles_[op].push_back(bind_role(rule, s == nullptr ? none : s->outputs));
      } else {
        operand_roles_[op].push_back(bind_role(rule, s == nullptr ? none : s->inputs));
      }
    });
  }
  for (const auto& rule : rules_.facts) {
    each(rule.op, [&](OpId op) {
      switch (rule.fact) {
        case lang::FactRule::Fact::bounded:
          bounded_[op] = 1;
          break;
        case lang::FactRule::Fact::commutes:
          commutes_[op] = 1;
          break;
        case lang::FactRule::Fact::moves:
          moves_[op] = 1;
          break;
        case lang::FactRule::Fact::collective:
          collectives_[op] = &rule;
          break;
      }
    });
  }
  for (const auto& rule : rules_.optimizers) each(rule.op, [&](OpId op) { optimizers_[op] = &rule; });
}

std::string RuleIndex::path_of(const Model& m, NodeId n) {
  const onnx::NodeProto& proto = *m.nodes[n].proto;
  // Keys as torch.onnx writes them, and the plain one of other exporters.
  static constexpr std::string_view kKeys[] = {"namespace", "pkg.torch.onnx.name_scopes",
                                               "pkg.torch.onnx.class_hierarchy"};
  for (const std::string_view key : kKeys) {
    for (const auto& prop : proto.metadata_props()) {
      if (prop.key() == key) return prop.value();
    }
  }
  const std::string& name = proto.name();
  const auto slash = name.rfind('/');
  return slash == std::string::npos ? std::string{} : name.substr(0, slash);
}

bool RuleIndex::in_scope(const Model& m, lang::ScopeId scope, NodeId n, const std::string& path) const {
  const lang::Scope& s = rules_.scopes[scope];
  if (!s.block.empty()) {
    const Block& b = m.blocks[m.nodes[n].block];
    const NodeId at = n - b.first;
    return b.path == s.block && at >= s.first && at < s.last;
  }
  const std::string& name = m.nodes[n].proto->name();
  return std::any_of(s.patterns.begin(), s.patterns.end(), [&](const lang::NamePattern& p) {
    return (!name.empty() && p.matches(name)) || (!path.empty() && p.matches(path));
  });
}

void RuleIndex::bind_scopes(const Model& m) {
  rank_scopes();
  scope_sets_.push_back({lang::kWholeModel});
  scope_options_.push_back(merge(scope_sets_[0], kNone));
  const bool scopes = rules_.scopes.size() > 1;
  if (!scopes && rules_.guards.empty()) return;
  if (scopes) scope_of_.assign(m.nodes.size(), 0);
  if (!rules_.guards.empty()) guards_.assign(m.nodes.size(), 0);
  std::map<std::vector<lang::ScopeId>, std::uint32_t> known{{scope_sets_[0], 0}};
  // Blocks are numbered outer first, so an owner is bound before the nodes of its bodies.
  for (NodeId n = 0; n < m.nodes.size(); ++n) {
    const std::string path = path_of(m, n);
    const NodeId owner = m.blocks[m.nodes[n].block].owner;
    if (scopes) {
      std::vector<lang::ScopeId> set = owner == kNone ? scope_sets_[0] : scope_sets_[scope_of_[owner]];
      for (lang::ScopeId s = 1; s < rules_.scopes.size(); ++s) {
        if (std::find(set.begin(), set.end(), s) != set.end()) continue;
        const bool parent = std::find(set.begin(), set.end(), rules_.scopes[s].parent) != set.end();
        if (parent && in_scope(m, s, n, path)) set.push_back(s);
      }
      const auto [at, fresh] = known.emplace(set, static_cast<std::uint32_t>(scope_sets_.size()));
      if (fresh) {
        scope_options_.push_back(merge(set, n));
        scope_sets_.push_back(std::move(set));
      }
      scope_of_[n] = at->second;
    }
    if (!rules_.guards.empty()) {
      const bool in = (owner != kNone && guards_[owner] != 0) ||
                      std::any_of(rules_.guards.begin(), rules_.guards.end(),
                                  [&](const lang::GuardRule& g) { return guard_matches(m, g, n); });
      guards_[n] = in ? 1 : 0;
    }
  }
}

bool RuleIndex::guard_matches(const Model& m, const lang::GuardRule& guard, NodeId n) const {
  const std::string path = path_of(m, n);
  if (guard.pattern.matches(m.nodes[n].proto->name()) || (!path.empty() && guard.pattern.matches(path))) return true;
  // A guard is most often the name of one module somewhere on the path.
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (guard.pattern.matches(path.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

bool RuleIndex::scope_used(lang::ScopeId scope) const {
  return std::any_of(scope_sets_.begin(), scope_sets_.end(),
                     [&](const auto& set) { return std::find(set.begin(), set.end(), scope) != set.end(); });
}

void RuleIndex::rank_scopes() {
  const auto& scopes = rules_.scopes;
  const auto within = [&](const lang::Scope& a, const lang::Scope& b) {
    if (a.block.empty() || b.block.empty() || a.parent != b.parent) return false;
    if (a.block != b.block) return a.block.starts_with(b.block + '/');
    return a.first >= b.first && a.last <= b.last && (a.first != b.first || a.last != b.last);
  };
  ranks_.assign(std::max<std::size_t>(scopes.size(), 1), 0);
  for (lang::ScopeId s = 1; s < scopes.size(); ++s) {
    const auto around = std::count_if(scopes.begin() + 1, scopes.end(),
                                      [&](const lang::Scope& other) { return within(scopes[s], other); });
    ranks_[s] = ranks_[scopes[s].parent] + 1 + static_cast<int>(around);
  }
}

/// Settings by rank; `n` is the first node that all of these scopes hold at.
Options RuleIndex::merge(std::vector<lang::ScopeId> scopes, NodeId n) {
  std::stable_sort(scopes.begin(), scopes.end(),
                   [&](lang::ScopeId a, lang::ScopeId b) { return ranks_[a] < ranks_[b]; });
  Options o;
  const auto take = [&](auto& into, auto lang::Settings::*setting, std::string_view what) {
    if (settings_.*setting) into = *(settings_.*setting);
    lang::ScopeId from = lang::kWholeModel;
    for (const lang::ScopeId s : scopes) {
      const auto& value = rules_.scopes[s].settings.*setting;
      if (s == lang::kWholeModel || !value) continue;
      if (from != lang::kWholeModel && ranks_[from] == ranks_[s] && into != *value)
        conflicts_.push_back({from, s, n, what});
      into = *value;
      from = s;
    }
  };
  take(o.level, &lang::Settings::level, "the level");
  take(o.dtype, &lang::Settings::dtype, "the data type");
  take(o.promote, &lang::Settings::promote, "promote");
  take(o.follow, &lang::Settings::follow, "follow");
  take(o.gray, &lang::Settings::gray, "gray");
  return o;
}

int RuleIndex::scope_depth(lang::ScopeId scope, NodeId n) const {
  if (scope == lang::kWholeModel) return 0;
  if (scope_of_.empty()) return -1;
  const auto& set = scope_sets_[scope_of_[n]];
  return std::find(set.begin(), set.end(), scope) == set.end() ? -1 : ranks_[scope];
}

}  // namespace ampc
