// R25: a value that the low type cannot hold is never changed in silence.
//
// Weights that a low node would read are measured. One that overflows, or a small one that would vanish, stays fp32:
// the type variable that reads it is not lowered there, and what is computed from it stays fp32 as long as it may be as
// large (a mask of -3.4e38 that is added to scores, up to the softmax).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"
#include "ampc/passes/access.h"
#include "ampc/passes/assume.h"
#include "ampc/passes/passes.h"
#include "ampc/passes/walk.h"

namespace ampc::passes {
namespace {

constexpr std::uint64_t kSmall = 64;           // elements: a scalar, an epsilon, a scale
constexpr std::uint64_t kWorthALook = 65536;   // elements of a weight that only fp32 nodes read
constexpr std::size_t kCopied = 65536;         // bytes of a weight that are not worth the pages around it
constexpr double kNoBound = 1e30;              // a bound like ±3.4e38 stands for none; one of 1e5 may be meant
constexpr double kLostFraction = 0.01;         // R25: off by more than this is lost
constexpr double kInsignificant = 1.0 / 2048;  // below this part of the tensor's largest, an element is noise in fp16

double widen(float source, ElemType low) {
  return low == ElemType::float16 ? static_cast<double>(weights::from_fp16(weights::to_fp16(source)))
                                  : static_cast<double>(weights::from_bf16(weights::to_bf16(source)));
}

double smallest_normal(ElemType low) { return low == ElemType::float16 ? 0x1p-14 : 0x1p-126; }

struct Measured {
  weights::Stats stats;
  bool vanishes = false;  // … wholly: zero, or off by more than the fraction above
  bool overflow = false;
  bool lost = false;               // a small constant that would vanish
  bool huge = false;               // finite values beyond the low type, whoever reads them
  std::optional<Assumed> assumed;  // … that all of this is so
};

class Ranges {
 public:
  explicit Ranges(const PassContext& c) : c_(c), m_(c.model) {}

  void run() {
    collect();
    std::vector<Measured> measured(candidates_.size());
    tbb::parallel_for(std::size_t{0}, candidates_.size(),
                      [&](std::size_t i) { measured[i] = measure(candidates_[i]); });
    odd_.assign(m_.values.size(), 0);
    c_.plan.kept.assign(m_.values.size(), 0);
    for (std::size_t i = 0; i < candidates_.size(); ++i) settle(candidates_[i], measured[i]);
    creators();
    attributes();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (measured[i].lost && c_.rules.settings().underflow != lang::Underflow::flush)
        vanishing(candidates_[i].value, measured[i].vanishes);
    }
    hold_epsilons();
    spread();
  }

 private:
  struct Candidate {
    ValueId value = kNone;
    ElemType low = ElemType::float16;
    bool wanted = false;  // some node would read it low
  };

  /// O2 stores the weights of denied nodes low too (R24).
  bool stored_low(const Reader& r) const {
    const Decision& d = c_.plan.nodes[r.node];
    return d.reason == Reason::deny && operand_lowers(m_, d, r.node, r.slot) &&
           c_.rules.level(r.node).weights == lang::Level::Weights::low;
  }

  bool reads_low(const Reader& r) const {
    const Decision& d = c_.plan.nodes[r.node];
    return (d.choice == Choice::low || d.choice == Choice::open) && operand_lowers(m_, d, r.node, r.slot);
  }

  void collect() {
    for (ValueId v = 0; v < m_.values.size(); ++v) {
      const Value& value = m_.values[v];
      if (value.weight == nullptr || value.type != ElemType::float32) continue;
      Candidate candidate{v, ElemType::float16, false};
      for (const Reader& r : c_.readers.of(v)) {
        if (candidate.wanted || !(reads_low(r) || stored_low(r))) continue;
        candidate.wanted = true;
        candidate.low = c_.plan.nodes[r.node].low;
      }
      if (!candidate.wanted) {
        if (c_.readers.of(v).empty() || tensors::element_count(*value.weight).value_or(0) > kWorthALook) continue;
        const Decision& d = c_.plan.nodes[c_.readers.of(v).front().node];
        if (d.reason == Reason::level_off) continue;
        candidate.low = d.low;
      }
      candidates_.push_back(candidate);
    }
  }

  Measured measure(const Candidate& candidate) const {
    wire::Bytes bytes = tensors::bytes_of(m_, *m_.values[candidate.value].weight);
    const std::uint64_t count = bytes.size() / sizeof(float);
    Measured out;
    if (candidate.wanted) {
      out.assumed = assume_ordinary(c_, candidate.value, candidate.low);
      if (out.assumed) return out;
    }
    thread_local std::vector<std::byte> copied;
    if (bytes.size() <= kCopied) {
      copied.resize(bytes.size());
      m_.storage->copy(bytes, copied.data());
      bytes = copied;
    }
    const weights::Conversion conversion{ElemType::float32, candidate.low, false};
    out.stats = c_.measure(conversion, bytes);
    out.huge = out.stats.overflow != 0;
    out.overflow = out.huge;
    // A parameter is what training makes of it: that it is small now says nothing (R27).
    if (count <= kSmall && !c_.plan.training.parameter(candidate.value)) look_closely(out, bytes, count, candidate.low);
    return out;
  }

  static void look_closely(Measured& out, wire::Bytes bytes, std::uint64_t count, ElemType low) {
    for (std::uint64_t i = 0; i < count; ++i) {
      float x = 0;
      std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
      const double value = std::fabs(static_cast<double>(x));
      if (value == 0 || !std::isfinite(value)) continue;
      const double kept = std::fabs(widen(x, low));
      if (!std::isfinite(kept)) continue;
      const bool off = std::fabs(kept - value) > kLostFraction * value;
      // Beside much larger ones a tiny element is noise; alone it is an epsilon or a scale, and then subnormal is too
      // coarse.
      out.vanishes |= off && value >= kInsignificant * out.stats.absmax;
      out.lost |= out.vanishes || (count == 1 && kept < smallest_normal(low));
    }
  }

  const lang::WeightRule* weight_rule(const Candidate& candidate, const weights::Stats& s) const {
    const Value& v = m_.values[candidate.value];
    for (const auto& r : c_.rules.rules().weights) {
      if (r.pattern && !r.pattern->matches(v.name)) continue;
      const auto readers = c_.readers.of(candidate.value);
      if (std::none_of(readers.begin(), readers.end(),
                       [&](const Reader& at) { return c_.rules.scope_depth(r.scope, at.node) >= 0; }))
        continue;
      if (!r.where || holds(*r.where, s)) return &r;
    }
    return nullptr;
  }

  bool has_role(const Reader& r, lang::RoleAction action) const {
    for (const auto& role : c_.rules.operand_roles(m_.nodes[r.node].op)) {
      if (role.rule->action == action && role.has(r.slot)) return true;
    }
    return false;
  }

  void settle(const Candidate& candidate, const Measured& measured) {
    const ValueId v = candidate.value;
    WeightPlan plan;
    plan.value = v;
    plan.low = candidate.low;
    plan.stats = measured.stats;
    if (measured.assumed) c_.plan.assumed.push_back(*measured.assumed);
    bool keep = false;
    Reason reason = Reason::overflow;
    const auto policy = c_.rules.settings().overflow.value_or(lang::Overflow::keep);
    const lang::WeightRule* rule = nullptr;
    if (candidate.wanted && measured.overflow) keep = overflows(candidate, measured, plan);
    const bool vanishes = measured.lost && c_.rules.settings().underflow != lang::Underflow::flush;
    if (!keep && candidate.wanted && vanishes) {
      keep = true;
      reason = Reason::underflow;
    }
    if (const auto* r = candidate.wanted && !keep ? weight_rule(candidate, measured.stats) : nullptr) {
      keep = true;
      reason = Reason::weight_rule;
      rule = r;
    }
    const bool too_large = measured.overflow && !plan.clamp && policy == lang::Overflow::keep;
    if (keep || too_large || vanishes) c_.plan.kept[v] = 1;
    if (keep) hold_readers(candidate, reason, rule);
    if (candidate.wanted && !keep) report_underflow(candidate, measured.stats);
    // A bound that only limits makes nothing large; nor does a value that was clamped.
    if (measured.huge && !plan.clamp && policy == lang::Overflow::keep) odd_[v] = 1;
    if (candidate.wanted) c_.plan.weights.push_back(plan);
  }

  /// R25's policies; true where the tensor stays fp32.
  bool overflows(const Candidate& candidate, const Measured& measured, WeightPlan& plan) {
    const Value& value = m_.values[candidate.value];
    bool only_limits = measured.stats.absmax >= kNoBound;
    std::string readers;
    std::size_t count = 0;
    NodeId last = kNone;
    for (const Reader& r : c_.readers.of(candidate.value)) {
      only_limits &= has_role(r, lang::RoleAction::saturate);
      if (r.node == last) continue;
      last = r.node;
      if (++count <= 3) readers += (readers.empty() ? "" : ", ") + m_.describe(r.node);
    }
    if (count > 3) readers += fmt::format(" and {} more", count - 3);
    if (only_limits && !c_.readers.given_out(candidate.value)) {
      plan.clamp = true;
      return false;
    }
    const auto policy = c_.rules.settings().overflow.value_or(lang::Overflow::keep);
    const std::string what = fmt::format("'{}' does not fit {}: its largest magnitude is {:.6g}", value.name,
                                         short_name(candidate.low), measured.stats.absmax);
    switch (policy) {
      case lang::Overflow::keep:
        c_.diagnostics.warning(codes::kOverflow, what + "; it stays fp32, and so does what reads it")
            .in(m_.path)
            .note("read by " + readers);
        return true;
      case lang::Overflow::error:
        c_.diagnostics.error(codes::kOverflow, what)
            .in(m_.path)
            .note("read by " + readers)
            .fix("`overflow keep` leaves it and its readers in fp32");
        return false;
      case lang::Overflow::clamp:
        c_.diagnostics
            .warning(codes::kOverflow, what + fmt::format("; {} of its elements are clamped", measured.stats.overflow))
            .in(m_.path)
            .note("read by " + readers);
        plan.clamp = true;
        return false;
      case lang::Overflow::inf:
        c_.diagnostics
            .warning(codes::kOverflow,
                     what + fmt::format("; {} of its elements become infinite", measured.stats.overflow))
            .in(m_.path)
            .note("read by " + readers);
        return false;
    }
    return true;
  }

  /// Of a large weight some elements are noise; many of them are told.
  void report_underflow(const Candidate& candidate, const weights::Stats& s) const {
    if (s.count <= kSmall || s.underflow <= most_underflow(c_, s.count)) return;
    c_.diagnostics
        .warning(codes::kUnderflow, fmt::format("{} of the {} elements of '{}' become zero in {}", s.underflow, s.count,
                                                m_.values[candidate.value].name, short_name(candidate.low)))
        .in(m_.path)
        .fix("`weight where underflow > 1% keep fp32` keeps it, `underflow flush` says that it is meant");
  }

  void hold_readers(const Candidate& candidate, Reason reason, const lang::WeightRule* rule) {
    for (const Reader& r : c_.readers.of(candidate.value)) {
      if (!reads_low(r) || (rule != nullptr && c_.rules.scope_depth(rule->scope, r.node) < 0)) continue;
      Decision& d = c_.plan.nodes[r.node];
      const int var = operand_var(m_.op_of(r.node), r.slot);
      drop_var(d, var);
      if (d.vars == 0) {
        overrule(d, reason, candidate.value, rule == nullptr ? Span{} : rule->span);
      }
    }
  }

  /// What a vanishing factor makes may vanish as well, and so on. What an epsilon is added to may be no more than the
  /// epsilon, so the next node must not lose it; a root or a quotient then brings it back into range.
  void vanishing(ValueId v, bool wholly) {
    for (const Reader& r : c_.readers.of(v)) {
      const bool factor = has_role(r, lang::RoleAction::factor);
      const auto results = m_.results_of(r.node);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const ValueId result = results[i];
        if (result == kNone || m_.values[result].type != ElemType::float32 || makes_low(r.node, i)) continue;
        if (factor) odd_[result] = 1;
        if (!factor && wholly && !c_.rules.bounded(m_.nodes[r.node].op)) epsilons_.push_back(result);
      }
    }
  }

  /// Through what only moves it or takes its root, up to the node that joins it with something else.
  void hold_epsilons() {
    while (!epsilons_.empty()) {
      const ValueId v = epsilons_.back();
      epsilons_.pop_back();
      for (const Reader& r : c_.readers.of(v)) {
        Decision& d = c_.plan.nodes[r.node];
        if (!reads_low(r)) continue;
        drop_var(d, operand_var(m_.op_of(r.node), r.slot));
        if (d.vars != 0) continue;
        overrule(d, Reason::range_operand, v);
        std::size_t floats = 0;
        for (const ValueId operand : m_.operands_of(r.node))
          floats += operand != kNone && m_.values[operand].type == ElemType::float32 ? 1U : 0U;
        if (floats > 1 || d.listed_allow || c_.rules.bounded(m_.nodes[r.node].op)) continue;
        for (const ValueId result : m_.results_of(r.node)) {
          if (result != kNone && m_.values[result].type == ElemType::float32) epsilons_.push_back(result);
        }
      }
    }
  }

  /// R20 creators whose value is beyond the low type (ConstantOfShape of -3.4e38).
  void creators() {
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (c_.plan.nodes[n].reason != Reason::attribute_type) continue;
      for (const auto& a : m_.nodes[n].proto->attribute()) {
        if (!a.has_t() || a.t().data_type() != onnx::TensorProto::FLOAT) continue;
        const wire::Bytes bytes = tensors::bytes_of(m_, a.t());
        const weights::Conversion conversion{ElemType::float32, c_.plan.nodes[n].low, false};
        const auto stats =
            weights::measure_parallel(weights::cpu_caster(), conversion, bytes.data(), bytes.size() / sizeof(float));
        if (stats.overflow == 0) continue;
        for (const ValueId v : m_.results_of(n)) {
          if (v != kNone) odd_[v] = 1;
        }
      }
    }
  }

  /// Whether a role says that the operator computes with this attribute in fp32 in any case.
  bool held(NodeId n, const std::string& attribute) const {
    const Options& o = c_.rules.options(n);
    for (const BoundRole& role : c_.rules.operand_roles(m_.nodes[n].op)) {
      const auto& names = role.rule->attributes;
      if (std::find(names.begin(), names.end(), attribute) != names.end() && role.rule->when.holds(o.level, o.dtype) &&
          c_.rules.scope_depth(role.rule->scope, n) >= 0) {
        return true;
      }
    }
    return false;
  }

  /// Floats in attributes: an epsilon of 1e-12 is nothing in fp16.
  void attributes() {
    if (c_.rules.settings().underflow == lang::Underflow::flush) return;
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      Decision& d = c_.plan.nodes[n];
      if (d.choice != Choice::low && d.choice != Choice::open) continue;
      for (const auto& a : m_.nodes[n].proto->attribute()) {
        if (a.type() != onnx::AttributeProto::FLOAT || a.f() == 0 || widen(a.f(), d.low) != 0) continue;
        if (held(n, a.name())) continue;
        overrule(d, Reason::attribute, kNone);
      }
    }
  }

  /// What is computed from a value beyond the low type may be as large.
  void spread() {
    walk_forward(
        m_, 0, [&](NodeId n) { spread_node(n); }, [&](ValueId from, ValueId to) { odd_[to] |= odd_[from]; });
  }

  /// A result that is made low all the same has the range of operands of its own type.
  bool makes_low(NodeId n, std::size_t result) const {
    const Decision& d = c_.plan.nodes[n];
    return (d.choice == Choice::low || d.choice == Choice::open) && has_var(d.vars, result_var(m_.op_of(n), result));
  }

  void spread_node(NodeId n) {
    Decision& d = c_.plan.nodes[n];
    const Op& op = m_.op_of(n);
    ValueId odd = kNone;
    const auto operands = m_.operands_of(n);
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
      const ValueId v = operands[slot];
      if (v == kNone || odd_[v] == 0 || m_.values[v].type != ElemType::float32) continue;
      const bool lowers = (d.choice == Choice::low || d.choice == Choice::open) && operand_lowers(m_, d, n, slot);
      // A weight that overflows has held its readers already; that it is still lowered here means it only limits.
      if (m_.values[v].weight != nullptr && lowers) continue;
      if (odd == kNone) odd = v;
      if (!lowers) continue;
      drop_var(d, operand_var(op, slot));
      if (d.vars == 0) {
        overrule(d, Reason::range_operand, v);
      }
    }
    if (odd == kNone || c_.rules.bounded(m_.nodes[n].op)) return;
    // What an operator on an allow list makes of it is a sum of many terms: its range is another matter.
    if (d.listed_allow && d.reason != Reason::overflow) return;
    const auto results = m_.results_of(n);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] != kNone && m_.values[results[i]].type == ElemType::float32 && !makes_low(n, i))
        odd_[results[i]] = 1;
    }
  }

  const PassContext& c_;
  const Model& m_;
  std::vector<Candidate> candidates_;
  std::vector<ValueId> epsilons_;  // results that may be no larger than a constant that vanishes
  std::vector<std::uint8_t>
      odd_;  // by ValueId: may be beyond what the low type holds, or so small that it vanishes there
};

}  // namespace

void guard_ranges(const PassContext& c) { Ranges(c).run(); }

}  // namespace ampc::passes
