// R12: the order of decision. What a node's operands and schema allow comes first, then named rules, then patterns
// (R34), then lists.
#include <utility>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include "onnx/onnx_pb.h"

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
    const lang::OpRule* unsupported = rule_of(n, lang::Verdict::unsupported);
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
    const lang::OpRule* rule = rule_of(n, lang::Verdict::leave);
    for (NodeId call = call_around(n); rule == nullptr && call != kNone; call = call_around(call)) {
      rule = rule_of(call, lang::Verdict::leave);
    }
    return rule != nullptr && end(d, Choice::leave, Reason::left_by_rule, rule->span);
  }

  /// The first rule of this verdict on the node's operator that holds at the node.
  const lang::OpRule* rule_of(NodeId n, lang::Verdict verdict) const {
    for (const auto* r : c_.rules.op_rules(m_.nodes[n].op)) {
      if (r->verdict == verdict && applies(*r, n, c_.rules.options(n))) return r;
    }
    return nullptr;
  }

  /// The innermost call whose function's body the node is in, where lists name functions at all; else kNone.
  NodeId call_around(NodeId n) const {
    if (!c_.rules.lists_functions()) return kNone;
    for (n = m_.blocks[m_.nodes[n].block].owner; n != kNone; n = m_.blocks[m_.nodes[n].block].owner) {
      if (m_.op_of(n).is_call) return n;
    }
    return kNone;
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

  /// A list that names a function holds for all of its body, as a pattern does for its nodes.
  const lang::OpRule* function_list(NodeId n) const {
    for (NodeId call = call_around(n); call != kNone; call = call_around(call)) {
      if (const lang::OpRule* list = best_list(call, c_.rules.options(call)); list != nullptr) return list;
    }
    return nullptr;
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
    const lang::OpRule* list = function_list(n);
    if (list == nullptr && by_pattern(n, d, o)) return;
    if (list == nullptr) list = best_list(n, o);
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

}  // namespace

void classify(const PassContext& c) {
  const Classifier classifier(c);
  c.plan.nodes.resize(c.model.nodes.size());
  tbb::parallel_for(tbb::blocked_range<NodeId>(0, static_cast<NodeId>(c.model.nodes.size()), 2048),
                    [&](const auto& range) {
                      for (NodeId n = range.begin(); n != range.end(); ++n) c.plan.nodes[n] = classifier.decide(n);
                    });
  report_decisions(c);
  report_walls(c);
}

}  // namespace ampc::passes
