#include "ampc/passes/explain.h"

#include <algorithm>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/suggest.h"
#include "ampc/lang/ast.h"
#include "ampc/passes/access.h"

namespace ampc {
namespace {

bool same(const Span& a, const Span& b) { return a.file == b.file && a.begin == b.begin; }

/// Reasons that rest on what was decided elsewhere, beyond the rule that lets the node follow.
bool follows(Reason r) {
  switch (r) {
    case Reason::follow_low:
    case Reason::follow_fp32:
    case Reason::promote_fp32:
    case Reason::collective_fp32:
    case Reason::range_operand:
    case Reason::backward:
    case Reason::pattern_as_one:
      return true;
    default:
      return false;
  }
}

/// The node whose decision the one at `n` rests on, and the value between them; kNone where there is none.
NodeId next_of(const Model& m, const Plan& plan, NodeId n, ValueId* by) {
  const Decision& d = plan.nodes[n];
  if (!follows(d.reason)) return kNone;
  if (d.reason == Reason::backward) return plan.training.forward_of(n);
  if (d.reason == Reason::pattern_as_one && d.match != kNone) {
    for (const NodeId other : plan.matches[d.match].nodes) {
      if (plan.nodes[other].reason != Reason::pattern_as_one && plan.nodes[other].choice != Choice::low) return other;
    }
    return kNone;
  }
  if (d.value == kNone) return kNone;
  *by = d.value;
  return m.values[d.value].producer;
}

/// Reasons that the operator's schema gives, or its lack of one; others lie in the model's values.
bool by_schema(Reason r) {
  switch (r) {
    case Reason::overflow:
    case Reason::underflow:
    case Reason::attribute:
    case Reason::exact_operand:
    case Reason::shape_arithmetic:
    case Reason::position:
    case Reason::kept_operand:
    case Reason::loss_scale:
    case Reason::reduced:
    case Reason::unknown_type:
      return false;
    default:
      return true;
  }
}

std::string fact_of(const Model& m, const Decision& d, NodeId n, bool* of_schema) {
  const Op& op = m.op_of(n);
  *of_schema = by_schema(d.reason);
  if (d.value != kNone && follows(d.reason)) {
    const Value& v = m.values[d.value];
    *of_schema = false;
    return fmt::format("'{}' is {}", v.name, v.weight != nullptr ? "a weight" : "an input of the graph");
  }
  if (d.value != kNone) return fmt::format("{}: '{}'", reason_text(d.reason), m.values[d.value].name);
  if (!*of_schema) return std::string(reason_text(d.reason));
  if (op.is_call) return fmt::format("{} is a function of the model's own", op.name);
  if (op.signature == nullptr) return fmt::format("nothing declares {}", op.name);
  return fmt::format("{}-{}: {}", op.name, op.signature->since_version, fmt::join(schema_of(op), "; "));
}

std::string when_text(const lang::RuleSet& rules, const lang::When& when) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < rules.levels.size(); ++i) {
    if (when.levels != 0xffffffffU && ((when.levels >> i) & 1U) != 0) words.push_back(rules.levels[i].name);
  }
  if (!when.fp16) words.emplace_back("bf16");
  if (!when.bf16) words.emplace_back("fp16");
  return list_of(words, false, "and");
}

class Losers {
 public:
  Losers(const Model& m, const RuleIndex& rules, const Plan& plan, NodeId n)
      : m_(m), rules_(rules), d_(plan.nodes[n]), n_(n) {}

  std::vector<Loser> run() {
    winner_ = nullptr;
    for (const auto* r : rules_.op_rules(m_.nodes[n_].op)) {
      if (same(r->span, d_.rule)) winner_ = r;
    }
    for (const auto* r : rules_.op_rules(m_.nodes[n_].op)) {
      if (r != winner_) list(*r);
    }
    named();
    std::stable_sort(found_.begin(), found_.end(), [](const Loser& a, const Loser& b) {
      return std::pair(a.rule.file, a.rule.begin) < std::pair(b.rule.file, b.rule.begin);
    });
    return std::move(found_);
  }

 private:
  void list(const lang::OpRule& r) {
    const Options& o = rules_.options(n_);
    Loser l;
    l.rule = r.span;
    l.what = fmt::format("{} {}", lang::ast::spelling(r.verdict), m_.op_of(n_).name);
    if (!r.when.holds(o.level, o.dtype)) {
      l.why = fmt::format("it holds for {}, not for {} {}", when_text(rules_.rules(), r.when), rules_.level(n_).name,
                          short_name(o.dtype));
    } else if (rules_.scope_depth(r.scope, n_) < 0) {
      l.why = "the node is not in its scope";
    } else if (r.where && !holds(*r.where, m_, n_)) {
      l.why = "its condition does not hold";
      l.condition = r.where->span;
    } else if (winner_ == nullptr) {
      l.why = fmt::format("decided before it: {}", reason_text(d_.reason));
    } else {
      l.why = beaten(r);
    }
    found_.push_back(std::move(l));
  }

  /// Why another list wins: as classify ranks them.
  std::string beaten(const lang::OpRule& r) const {
    using lang::Verdict;
    const std::string_view winner = lang::ast::spelling(winner_->verdict);
    if (winner_->verdict == Verdict::leave || winner_->verdict == Verdict::unsupported)
      return fmt::format("'{}' comes before every other list", winner);
    if (rules_.scope_depth(winner_->scope, n_) > rules_.scope_depth(r.scope, n_))
      return "one in an inner scope comes before it";
    if (winner_->where && !r.where) return "one with a condition that holds comes before it";
    return fmt::format("'{}' comes before '{}'", winner, lang::ast::spelling(r.verdict));
  }

  void named() {
    const std::string& name = m_.nodes[n_].proto->name();
    for (const lang::NodeRule& r : rules_.rules().nodes) {
      if (same(r.span, d_.rule) || name.empty() || !r.pattern.matches(name)) continue;
      add(r.span, r.low ? "node … low" : "node … keep fp32", r.scope);
    }
    for (const lang::TensorRule& r : rules_.rules().tensors) {
      if (same(r.span, d_.rule) || r.action != lang::TensorAction::keep_fp32) continue;
      const auto names = [&](ValueId v) { return v != kNone && r.pattern.matches(m_.values[v].name); };
      const auto in = m_.operands_of(n_), out = m_.results_of(n_);
      if (std::any_of(in.begin(), in.end(), names) || std::any_of(out.begin(), out.end(), names))
        add(r.span, "tensor … keep fp32", r.scope);
    }
  }

  void add(const Span& rule, std::string what, lang::ScopeId scope) {
    const bool inside = rules_.scope_depth(scope, n_) >= 0;
    found_.push_back({rule,
                      std::move(what),
                      inside ? fmt::format("decided otherwise: {}", reason_text(d_.reason))
                             : std::string("the node is not in its scope"),
                      {}});
  }

  const Model& m_;
  const RuleIndex& rules_;
  const Decision& d_;
  NodeId n_;
  const lang::OpRule* winner_ = nullptr;
  std::vector<Loser> found_;
};

}  // namespace

std::vector<ChainLink> chain_of(const Model& m, const RuleIndex& rules, const Plan& plan, NodeId n) {
  std::vector<ChainLink> chain;
  // Producers stand before their readers, so that no chain is longer than the graph.
  while (chain.size() <= m.nodes.size()) {
    const Decision& d = plan.nodes[n];
    ChainLink& link = chain.emplace_back();
    link.node = n;
    link.rule = d.rule;
    const NodeId next = next_of(m, plan, n, &link.by);
    if (next != kNone) {
      n = next;
      continue;
    }
    link.by = kNone;
    const bool by_options = d.reason == Reason::promote_low || d.reason == Reason::cut_low ||
                            d.reason == Reason::cut_fp32 || d.reason == Reason::follow_none ||
                            d.reason == Reason::readers_fp32;
    if (!link.rule.valid() && by_options) link.rule = rules.level(n).span;
    if (!link.rule.valid() || (follows(d.reason) && d.value != kNone)) link.fact = fact_of(m, d, n, &link.of_schema);
    break;
  }
  return chain;
}

std::vector<Loser> losers_of(const Model& m, const RuleIndex& rules, const Plan& plan, NodeId n) {
  return Losers(m, rules, plan, n).run();
}

std::vector<std::string> schema_of(const Op& op) {
  std::vector<std::string> lines;
  if (op.signature == nullptr) return lines;
  const Signature& s = *op.signature;
  const auto types = [](const ElemTypeSet& elems) {
    std::vector<std::string> names;
    for (const ElemType t : {ElemType::float32, ElemType::float16, ElemType::bfloat16, ElemType::float64}) {
      if (elems.contains(t)) names.emplace_back(short_name(t));
    }
    return names.empty() ? std::string("no floats") : fmt::format("{}", fmt::join(names, ", "));
  };
  for (std::size_t v = 0; v < s.type_vars.size(); ++v) {
    std::vector<std::string> bound;
    for (const auto* list : {&s.inputs, &s.outputs}) {
      for (const Formal& f : *list) {
        if (f.type_var == static_cast<int>(v)) bound.push_back(f.name);
      }
    }
    lines.push_back(
        fmt::format("{} ({}) in {}", s.type_vars[v].name, fmt::join(bound, ", "), types(s.type_vars[v].elems)));
  }
  for (const auto* list : {&s.inputs, &s.outputs}) {
    for (const Formal& f : *list) {
      if (f.type_var == kNoTypeVar) lines.push_back(fmt::format("{} in {}", f.name, types(f.elems)));
    }
  }
  if (lines.empty()) lines.emplace_back("no operands");
  return lines;
}

}  // namespace ampc
