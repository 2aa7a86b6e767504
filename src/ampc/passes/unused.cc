// Rules of names that match nothing in this model: a misspelt scope would otherwise be silence, a misspelt guard a
// model that is fp32 throughout.
#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/passes/access.h"
#include "ampc/passes/match.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

constexpr std::size_t kEnoughNames = 20000;  // beyond this a near miss is not looked for

class Unused {
 public:
  explicit Unused(const PassContext& c) : c_(c), m_(c.model) {}

  void run() {
    const auto& rules = c_.rules.rules();
    for (lang::ScopeId s = 1; s < rules.scopes.size(); ++s) scope(s);
    for (const auto& g : rules.guards) {
      by_node(g.pattern, g.span, "guard", [&](NodeId n) { return c_.rules.guard_matches(m_, g, n); });
    }
    for (const auto& r : rules.nodes) {
      by_node(r.pattern, r.span, "node", [&](NodeId n) { return r.pattern.matches(m_.nodes[n].proto->name()); });
    }
    for (const auto& r : rules.tensors) {
      // A scale is a fact that rule files for training graphs state of any.
      if (r.action != lang::TensorAction::scale) by_value(r.pattern, r.span, "tensor", false);
    }
    for (const auto& r : rules.io) by_value(r.pattern, r.span, "io", true);
    patterns();
    for (const auto& r : rules.weights) {
      if (r.pattern) by_value(*r.pattern, r.span, "weight", false);
    }
    for (const auto& r : rules.tensors) {
      if (r.action == lang::TensorAction::store_fp32) store(r);
    }
    for (const auto& r : rules.roles) function_operands(r.op, r.span, "a role");
    for (const auto& r : rules.facts) function_operands(r.op, r.span, "a fact");
    for (const auto& r : rules.roles) {
      if (r.action == lang::RoleAction::store_fp32 && r.span.file == kRootFile) store(r);
    }
  }

 private:
  void scope(lang::ScopeId s) {
    const lang::Scope& scope = c_.rules.rules().scopes[s];
    if (c_.rules.scope_used(s)) return;
    // A scope inside one that matches nothing says nothing new.
    if (scope.parent != lang::kWholeModel && !c_.rules.scope_used(scope.parent)) return;
    auto& d = c_.diagnostics.warning(codes::kUnusedRule, "this matches no node of the model").at(scope.span);
    if (!scope.block.empty()) {
      std::vector<std::string> blocks;
      for (const Block& b : m_.blocks) blocks.push_back(b.path);
      if (auto help = did_you_mean(scope.block, blocks); !help.empty()) d.fix(std::move(help));
    } else if (!scope.patterns.empty()) {
      near(d, scope.patterns.front(), node_names());
    }
  }

  /// Of the user's own file alone: what is imported is there for many models.
  void patterns() {
    for (const auto& rule : c_.rules.rules().patterns) {
      if (rule.span.file != kRootFile || std::any_of(c_.plan.matches.begin(), c_.plan.matches.end(),
                                                     [&](const PatternMatch& match) { return match.rule == &rule; })) {
        continue;
      }
      auto& d =
          c_.diagnostics
              .warning(codes::kUnusedRule, fmt::format("the pattern '{}' matches nothing in the model", rule.name))
              .at(rule.span);
      const BoundPattern bound(rule, m_);
      if (!bound.possible()) {
        d.note("the model has not all of its operators");
        continue;
      }
      NearMiss near;
      Matcher matcher(bound, m_, c_.rules);
      for (NodeId n = 0; n < m_.nodes.size(); ++n) {
        if (matcher.at(n, &near)) {
          d.note(fmt::format("it would match at {}, where it does not hold", m_.describe(n)));
          near = {};
          break;
        }
      }
      if (near.root != kNone) {
        d.also(rule.steps[near.failed].span,
               fmt::format("{} comes nearest, and there this step is not found", m_.describe(near.root)));
      }
    }
  }

  void by_node(const lang::NamePattern& p, const Span& span, std::string_view what,
               const std::function<bool(NodeId)>& matches) {
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (matches(n)) return;
    }
    auto& d = c_.diagnostics.warning(codes::kUnusedRule, fmt::format("this {} rule matches nothing in the model", what))
                  .at(span);
    near(d, p, node_names());
    if (what == "guard") d.note("nodes outside of every guard stay in fp32");
  }

  void by_value(const lang::NamePattern& p, const Span& span, std::string_view what, bool interface_only) {
    std::vector<std::string_view> names;
    const auto look = [&](ValueId v) {
      if (p.matches(m_.values[v].name)) return true;
      if (names.size() < kEnoughNames) names.push_back(m_.values[v].name);
      return false;
    };
    if (interface_only) {
      for (const auto* list : {&m_.blocks[0].inputs, &m_.blocks[0].outputs}) {
        for (const ValueId v : *list) {
          if (look(v)) return;
        }
      }
    } else {
      for (ValueId v = 0; v < m_.values.size(); ++v) {
        if (look(v)) return;
      }
    }
    near(c_.diagnostics.warning(codes::kUnusedRule, fmt::format("this {} rule matches nothing in the model", what))
             .at(span),
         p, names);
  }

  /// Only weights are stored.
  void store(const lang::TensorRule& r) {
    bool matched = false;
    for (const Value& v : m_.values) {
      if (!r.pattern.matches(v.name)) continue;
      matched = true;
      if (is_weight(v)) return;
    }
    if (matched) stores_nothing(r.span, "nothing that this names is a weight");
  }

  void store(const lang::RoleRule& r) {
    bool read = false;
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      for (const BoundRole& role : c_.rules.operand_roles(m_.nodes[n].op)) {
        if (role.rule != &r) continue;
        const auto operands = m_.operands_of(n);
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
          if (operands[slot] == kNone || !role.has(slot)) continue;
          read = true;
          if (is_weight(m_.values[operands[slot]])) return;
        }
      }
    }
    if (read) stores_nothing(r.span, "no node reads a weight there");
  }

  /// What happens to a function's operands is decided where its body reads them.
  void function_operands(const lang::OpName& name, const Span& span, std::string_view what) {
    if (span.file != kRootFile) return;
    const bool call = std::any_of(m_.ops.begin(), m_.ops.end(), [&](const Op& op) {
      return op.is_call && op.domain == name.domain && op.name == name.name;
    });
    if (!call) return;
    c_.diagnostics
        .warning(codes::kNoEffect,
                 fmt::format("{} of '{}' has no effect: it is a function of the model", what, name.name))
        .at(span)
        .fix("write it of the operators in the function's body; allow, deny, follow and leave may name the function");
  }

  void stores_nothing(const Span& span, std::string_view why) {
    c_.diagnostics.warning(codes::kNoEffect, fmt::format("'store fp32' has no effect: {}", why))
        .at(span)
        .fix("'keep fp32' keeps what is computed in fp32");
  }

  std::vector<std::string_view> node_names() const {
    std::vector<std::string_view> names;
    for (const Node& n : m_.nodes) {
      if (names.size() < kEnoughNames) names.emplace_back(n.proto->name());
    }
    return names;
  }

  static void near(Diagnostic& d, const lang::NamePattern& p, const std::vector<std::string_view>& names) {
    if (p.is_regex()) return;
    if (auto help = did_you_mean(p.text(), names); !help.empty()) d.fix(std::move(help));
  }

  const PassContext& c_;
  const Model& m_;
};

}  // namespace

void report_unused(const PassContext& c) { Unused(c).run(); }

}  // namespace ampc::passes
