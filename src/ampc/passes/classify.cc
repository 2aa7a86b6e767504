// R12: the order of decision. What a node's operands and schema allow comes first, then named rules, then patterns
// (R34), then lists.
#include <map>
#include <utility>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/declared.h"
#include "ampc/model/default_domain.h"
#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

/// Nodes of one operator share what its schema admits.
struct Admits {
  std::uint32_t fp16 = 0, bf16 = 0;  // type variables, a bit each
  std::uint32_t of(ElemType low) const { return low == ElemType::float16 ? fp16 : bf16; }
};

Admits admits_of(const Op& op) {
  Admits a;
  if (op.signature == nullptr) return a;
  for (std::size_t v = 0; v < op.signature->type_vars.size() && v < 32; ++v) {
    const TypeVar& var = op.signature->type_vars[v];
    if (var.elems.contains(ElemType::float16)) a.fp16 |= 1U << v;
    if (var.elems.contains(ElemType::bfloat16)) a.bf16 |= 1U << v;
  }
  return a;
}

constexpr FileId kRootFile = 0;  // the file that the user named is the first that is read

struct Tied {
  const lang::RoleRule* rule = nullptr;
  OpId op = 0;
  std::size_t count = 0;
};

class Classifier {
 public:
  explicit Classifier(const PassContext& c) : c_(c), m_(c.model) {
    for (const Op& op : m_.ops) admits_.push_back(admits_of(op));
    // What no cast leads to, no node can take.
    const bool fp16 = has_casts(m_, ElemType::float16), bf16 = has_casts(m_, ElemType::bfloat16);
    for (Admits& a : admits_) {
      if (!fp16) a.fp16 = 0;
      if (!bf16) a.bf16 = 0;
    }
  }

  Decision decide(NodeId n) const {
    Decision d;
    const Options& options = c_.rules.options(n);
    d.low = options.dtype;
    const lang::OpRule* unsupported = unsupported_rule(n, options);
    d.no_kernel = unsupported != nullptr;
    if (leave(n, d) || by_fact(n, d, options, unsupported)) return d;
    by_rule(n, d, options);
    Span kept;
    d.vars &= ~kept_vars(n, options, &kept);
    // Roles bind only when lowering (R9): a node that is fp32 anyway needs no other reason.
    if (d.vars == 0 && (d.choice == Choice::low || d.choice == Choice::open))
      end(d, Choice::fp32, Reason::tied_role, kept);
    return d;
  }

  /// Operand and result roles that a schema makes impossible: the first in order and how many nodes they hold in fp32.
  void report_tied() const;
  void report_unsupported() const;
  void report_no_effect() const;
  void report_other_low() const;

 private:
  static bool end(Decision& d, Choice choice, Reason reason, const Span& rule = {}, ValueId value = kNone) {
    d.choice = choice;
    d.reason = reason;
    d.rule = rule;
    d.value = value;
    return true;
  }

  /// R12.1
  bool leave(NodeId n, Decision& d) const {
    const Op& op = m_.op_of(n);
    if (op.is_cast) return end(d, Choice::leave, Reason::user_cast);
    if (op.is_constant) return end(d, Choice::leave, Reason::constant);
    if (op.is_call) return end(d, Choice::leave, Reason::function_call);
    if (op.signature == nullptr) return end(d, Choice::leave, Reason::no_schema);
    if (!m_.bodies_of(n).empty()) return end(d, Choice::leave, Reason::control_flow);
    bool fp32 = false, fp64 = false;
    ValueId unknown = kNone, odd = kNone;
    const auto look = [&](ValueId v) {
      if (v == kNone) return;
      const Value& value = m_.values[v];
      if (!value.tensor) odd = v;
      if (unknown == kNone && value.tensor && value.type == ElemType::undefined) unknown = v;
      fp32 |= value.tensor && value.type == ElemType::float32;
      fp64 |= value.type == ElemType::float64;
    };
    for (const ValueId v : m_.operands_of(n)) look(v);
    bool typed_results = false, bound_results = false;
    const auto results = m_.results_of(n);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNone) continue;
      look(results[i]);
      if (m_.values[results[i]].type != ElemType::float32 && !is_low(m_.values[results[i]].type)) continue;
      const int var = result_var(op, i);
      const bool free = var != kNoTypeVar && !op.signature->type_vars[static_cast<std::size_t>(var)].bound_by_input;
      (free ? typed_results : bound_results) = true;
    }
    if (op.signature->is_declared() && !contradiction(m_, n).empty())
      return end(d, Choice::leave, Reason::against_declaration);
    if (odd != kNone) return end(d, Choice::leave, Reason::not_a_tensor, {}, odd);
    if (unknown != kNone) return end(d, Choice::leave, Reason::unknown_type, {}, unknown);
    if (!fp32) return end(d, Choice::leave, Reason::no_float);
    if (fp64) return end(d, Choice::leave, Reason::double_operand);
    if (typed_results && !bound_results) {
      const lang::OpRule* list = best_list(n, c_.rules.options(n));
      if (list != nullptr && list->verdict == lang::Verdict::deny)
        return end(d, Choice::leave, Reason::left_by_rule, list->span);
      return left_by_rule(n, d) || end(d, Choice::leave, Reason::attribute_type);
    }
    return false;
  }

  bool applies(const lang::OpRule& r, NodeId n, const Options& o) const {
    return r.when.holds(o.level, o.dtype) && c_.rules.scope_depth(r.scope, n) >= 0 &&
           (!r.where || holds(*r.where, m_, n));
  }

  bool left_by_rule(NodeId n, Decision& d) const {
    for (const auto* r : c_.rules.op_rules(m_.nodes[n].op)) {
      if (r->verdict == lang::Verdict::leave && applies(*r, n, c_.rules.options(n))) {
        return end(d, Choice::leave, Reason::left_by_rule, r->span);
      }
    }
    return false;
  }

  /// R12.1 (rules), R12.2, R7.
  bool by_fact(NodeId n, Decision& d, const Options& o, const lang::OpRule* unsupported) const {
    const OpId op = m_.nodes[n].op;
    if (left_by_rule(n, d)) return true;
    if (c_.rules.rules().levels[o.level].off)
      return end(d, Choice::leave, Reason::level_off, c_.rules.rules().levels[o.level].span);
    if (const auto* list = best_list(n, o); list != nullptr && list->verdict == lang::Verdict::allow) {
      d.listed_allow = true;
      d.allowed_by = list->span;
    }
    if (const auto* optimizer = c_.rules.optimizer(op); optimizer != nullptr)
      return end(d, Choice::fp32, Reason::optimizer, optimizer->span);
    std::uint32_t bound = 0;
    each_fp32(n, [&](bool, std::size_t, int var) {
      if (var >= 0 && var < 32) bound |= 1U << static_cast<unsigned>(var);
    });
    d.vars = bound & admits_[op].of(d.low);
    if (d.vars == 0) return end(d, Choice::fp32, Reason::unsupported_schema);
    return unsupported != nullptr && end(d, Choice::fp32, Reason::unsupported_rule, unsupported->span);
  }

  const lang::OpRule* unsupported_rule(NodeId n, const Options& o) const {
    for (const auto* r : c_.rules.op_rules(m_.nodes[n].op)) {
      if (r->verdict == lang::Verdict::unsupported && applies(*r, n, o)) return r;
    }
    return nullptr;
  }

  /// Calls `f(is_result, slot, var)` for every fp32 operand and result.
  template <typename F>
  void each_fp32(NodeId n, const F& f) const {
    const Op& op = m_.op_of(n);
    const auto operands = m_.operands_of(n);
    const auto results = m_.results_of(n);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != kNone && m_.values[operands[i]].type == ElemType::float32) f(false, i, operand_var(op, i));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNone || m_.values[results[i]].type != ElemType::float32) continue;
      const int var = result_var(op, i);
      // A variable that no operand binds takes its type from an attribute; the node does not lower it.
      if (var != kNoTypeVar && !op.signature->type_vars[static_cast<std::size_t>(var)].bound_by_input) continue;
      f(true, i, var);
    }
  }

  /// Variables that `keep fp32` roles hold (R6, R7); `where` is the first such rule.
  std::uint32_t kept_vars(NodeId n, const Options& o, Span* where) const {
    const OpId op = m_.nodes[n].op;
    const auto& operand_roles = c_.rules.operand_roles(op);
    const auto& result_roles = c_.rules.result_roles(op);
    if (operand_roles.empty() && result_roles.empty()) return 0;
    const bool store = c_.rules.settings().on_conflict == lang::OnConflict::store;
    std::uint32_t kept = 0, free = 0;
    const lang::RoleRule* first = nullptr;
    each_fp32(n, [&](bool result, std::size_t slot, int var) {
      const auto* rule = role_at(result ? result_roles : operand_roles, slot, n, o, lang::RoleAction::keep_fp32);
      if (var < 0 || var >= 32) return;
      (rule != nullptr ? kept : free) |= 1U << static_cast<unsigned>(var);
      if (rule != nullptr && (first == nullptr || rule->span.begin < first->span.begin)) first = rule;
    });
    if (first != nullptr) *where = first->span;
    return store ? kept & ~free : kept;
  }

  const lang::RoleRule* role_at(const std::vector<BoundRole>& roles, std::size_t slot, NodeId n, const Options& o,
                                lang::RoleAction action) const {
    for (const auto& r : roles) {
      if (r.rule->action == action && r.has(slot) && r.rule->when.holds(o.level, o.dtype) &&
          c_.rules.scope_depth(r.rule->scope, n) >= 0) {
        return r.rule;
      }
    }
    return nullptr;
  }

  /// The list rule that wins at a node: the innermost scope, then one with a predicate, then deny before allow before
  /// follow.
  const lang::OpRule* best_list(NodeId n, const Options& o) const {
    const lang::OpRule* best = nullptr;
    const auto rank = [&](const lang::OpRule& r) {
      const int verdict = r.verdict == lang::Verdict::deny ? 2 : r.verdict == lang::Verdict::allow ? 1 : 0;
      return c_.rules.scope_depth(r.scope, n) * 8 + (r.where ? 4 : 0) + verdict;
    };
    for (const auto* r : c_.rules.op_rules(m_.nodes[n].op)) {
      if (r->verdict == lang::Verdict::leave || r->verdict == lang::Verdict::unsupported || !applies(*r, n, o))
        continue;
      if (best == nullptr || rank(*r) > rank(*best)) best = r;
    }
    return best;
  }

  /// R12.3 to R12.10, with patterns (R34) after node rules
  void by_rule(NodeId n, Decision& d, const Options& o) const {
    if (by_tensor(n, d)) return;
    if (!c_.rules.guarded(n)) {
      end(d, Choice::fp32, Reason::outside_guard, c_.rules.rules().guards.front().span);
      return;
    }
    const std::string& name = m_.nodes[n].proto->name();
    // Of two that match, `keep fp32` wins: nothing depends on how a pattern is spelt.
    const lang::NodeRule* named = nullptr;
    for (const auto& r : c_.rules.rules().nodes) {
      if (name.empty() || c_.rules.scope_depth(r.scope, n) < 0 || !r.pattern.matches(name)) continue;
      if (named == nullptr || (named->low && !r.low)) named = &r;
    }
    if (named != nullptr) {
      end(d, named->low ? Choice::low : Choice::fp32, Reason::node_rule, named->span);
      return;
    }
    if (by_pattern(n, d, o)) return;
    const lang::OpRule* list = best_list(n, o);
    if (list != nullptr && list->verdict == lang::Verdict::deny) {
      end(d, Choice::fp32, Reason::deny, list->span);
    } else if (list != nullptr && list->verdict == lang::Verdict::allow) {
      end(d, Choice::low, Reason::allow, list->span);
    } else if (c_.plan.training.step(n) == Training::Step::reduced) {
      end(d, Choice::fp32, Reason::reduced);
    } else if (const auto* collective = c_.rules.collective(m_.nodes[n].op); collective != nullptr) {
      end(d, Choice::open, Reason::collective_low, collective->span);
    } else if (o.promote || o.gray == lang::Gray::cut || list != nullptr) {
      end(d, Choice::open, Reason::none, list != nullptr ? list->span : Span{});
      d.promote = o.promote;
      d.cut = o.gray == lang::Gray::cut;
    } else {
      const lang::Level& level = c_.rules.rules().levels[o.level];
      end(d, level.default_low ? Choice::low : Choice::fp32, Reason::level_default, level.span);
    }
  }

  /// R34: more than what is said of an operator, less than what is said of the node.
  bool by_pattern(NodeId n, Decision& d, const Options& o) const {
    if (c_.plan.match_of.empty() || c_.plan.match_of[n] == kNone) return false;
    d.match = c_.plan.match_of[n];
    const lang::PatternRule& rule = *c_.plan.matches[d.match].rule;
    constexpr Choice kChoices[] = {Choice::fp32, Choice::low, Choice::open};
    end(d, kChoices[static_cast<std::size_t>(rule.action)], Reason::pattern, rule.span);
    d.promote = o.promote;
    return true;
  }

  bool by_tensor(NodeId n, Decision& d) const {
    const auto& rules = c_.rules.rules().tensors;
    if (rules.empty()) return false;
    for (const ValueId v : m_.operands_of(n)) {
      if (v != kNone && c_.plan.training.scale(v)) return end(d, Choice::fp32, Reason::loss_scale, {}, v);
    }
    const auto match = [&](ValueId v) {
      if (v == kNone || m_.values[v].type != ElemType::float32) return false;
      for (const auto& r : rules) {
        if (r.action == lang::TensorAction::keep_fp32 && c_.rules.scope_depth(r.scope, n) >= 0 &&
            r.pattern.matches(m_.values[v].name)) {
          return end(d, Choice::fp32, Reason::tensor_rule, r.span, v);
        }
      }
      return false;
    };
    for (const ValueId v : m_.operands_of(n)) {
      if (match(v)) return true;
    }
    for (const ValueId v : m_.results_of(n)) {
      if (match(v)) return true;
    }
    return false;
  }

  const PassContext& c_;
  const Model& m_;
  std::vector<Admits> admits_;
};

/// R7's note, once a rule and operator.
void Classifier::report_tied() const {
  std::vector<Tied> tied;
  for (NodeId n = 0; n < m_.nodes.size(); ++n) {
    const Decision& d = c_.plan.nodes[n];
    if (d.reason != Reason::tied_role) continue;
    const auto same = std::find_if(tied.begin(), tied.end(), [&](const Tied& t) {
      return t.op == m_.nodes[n].op && t.rule->span.begin == d.rule.begin;
    });
    if (same != tied.end()) {
      ++same->count;
      continue;
    }
    for (const auto& roles : {c_.rules.operand_roles(m_.nodes[n].op), c_.rules.result_roles(m_.nodes[n].op)}) {
      for (const auto& r : roles) {
        if (r.rule->span.begin == d.rule.begin && r.rule->span.file == d.rule.file)
          tied.push_back({r.rule, m_.nodes[n].op, 1});
      }
    }
  }
  const bool error = c_.rules.settings().on_conflict == lang::OnConflict::error;
  for (const Tied& t : tied) {
    const Op& op = m_.ops[t.op];
    c_.diagnostics
        .report(error ? Severity::error : Severity::note, codes::kTiedRole,
                fmt::format("{}-{} binds the kept operands and the others to one type: {} {} in fp32 as a whole",
                            op.name, op.signature->since_version, t.count, t.count == 1 ? "node stays" : "nodes stay"))
        .at(t.rule->span, "this role")
        .fix("`on conflict store` keeps the weights in fp32 on disk and lets the nodes run low");
  }
}

/// R17: an `allow` of the user's own file that cannot be had. Those of imported lists are no news.
void Classifier::report_no_effect() const {
  std::map<std::pair<std::uint32_t, OpId>, std::pair<std::size_t, NodeId>> counts;
  for (NodeId n = 0; n < m_.nodes.size(); ++n) {
    const Decision& d = c_.plan.nodes[n];
    const bool overruled =
        d.reason == Reason::unsupported_schema || d.reason == Reason::unsupported_rule || d.reason == Reason::optimizer;
    if (!overruled || !d.listed_allow || d.allowed_by.file != kRootFile) continue;
    auto& [count, first] = counts.try_emplace({d.allowed_by.begin, m_.nodes[n].op}, 0, n).first->second;
    ++count;
  }
  for (const auto& [key, found] : counts) {
    const auto& [count, first] = found;
    const Decision& d = c_.plan.nodes[first];
    const Op& op = m_.ops[key.second];
    auto& warning = c_.diagnostics
                        .warning(codes::kNoEffect, fmt::format("`allow {}` has no effect: {} {} in fp32", op.name,
                                                               count, count == 1 ? "node stays" : "nodes stay"))
                        .at(d.allowed_by);
    if (d.reason == Reason::unsupported_rule) {
      warning.also(d.rule, "unsupported, says this");
    } else if (d.reason == Reason::optimizer) {
      warning.also(d.rule, "an optimizer, says this");
    } else {
      warning.note(fmt::format("{} of {} opset {} admits no {}", op.name, op.domain.empty() ? "ai.onnx" : op.domain,
                               op.version, short_name(d.low)));
      if (op.signature->is_declared()) warning.also(op.signature->declared, "declared here");
    }
  }
}

/// R5: what a newer opset would free.
void Classifier::report_unsupported() const {
  std::vector<std::size_t> counts(m_.ops.size(), 0);
  std::vector<ElemType> low(m_.ops.size(), ElemType::float16);
  for (NodeId n = 0; n < m_.nodes.size(); ++n) {
    const Decision& d = c_.plan.nodes[n];
    if (d.reason != Reason::unsupported_schema || !d.listed_allow || d.allowed_by.file == kRootFile) continue;
    ++counts[m_.nodes[n].op];
    low[m_.nodes[n].op] = d.low;
  }
  for (OpId op = 0; op < m_.ops.size(); ++op) {
    if (counts[op] == 0) continue;
    const Op& o = m_.ops[op];
    const Signature* newer = nullptr;
    for (const Signature* s : c_.rules.rules().operators->versions(o.domain, o.name)) {
      if (s->since_version <= o.version || newer != nullptr || s->outputs.empty()) continue;
      if (s->outputs.front().elems.contains(low[op])) newer = s;
    }
    auto& d = c_.diagnostics.note(
        codes::kOpsetNote, fmt::format("{} {} {} in fp32: {} opset {} has no {} for it", counts[op], o.name,
                                       counts[op] == 1 ? "stays" : "stay", o.domain.empty() ? "ai.onnx" : o.domain,
                                       o.version, short_name(low[op])));
    d.in(m_.path);
    if (newer != nullptr) d.fix(fmt::format("opset {0} has: --opset {0} brings the model there", newer->since_version));
  }
}

/// R32: values of the other low type, which stay as they are.
void Classifier::report_other_low() const {
  const ElemType other = c_.plan.low == ElemType::float16 ? ElemType::bfloat16 : ElemType::float16;
  const auto count = std::count_if(m_.values.begin(), m_.values.end(), [&](const Value& v) { return v.type == other; });
  if (count == 0) return;
  c_.diagnostics
      .note(codes::kMixedLow, fmt::format("the model holds {} {} of {}, which stay so and meet {} through fp32", count,
                                          count == 1 ? "value" : "values", short_name(other), short_name(c_.plan.low)))
      .in(m_.path);
}

}  // namespace

void classify(const PassContext& c) {
  const Classifier classifier(c);
  c.plan.nodes.resize(c.model.nodes.size());
  tbb::parallel_for(tbb::blocked_range<NodeId>(0, static_cast<NodeId>(c.model.nodes.size()), 2048),
                    [&](const auto& range) {
                      for (NodeId n = range.begin(); n != range.end(); ++n) c.plan.nodes[n] = classifier.decide(n);
                    });
  classifier.report_tied();
  classifier.report_unsupported();
  classifier.report_no_effect();
  classifier.report_other_low();
  report_walls(c);
}

}  // namespace ampc::passes
