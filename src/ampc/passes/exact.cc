// R33: shape arithmetic and positions stay exact, whatever the lists say.
//
// Forward: which fp32 values are computed from integers alone. Such a value stays fp32 up to the first operator on an
// allow list, and beyond that where it ends in an exact operand (Sin of a rotary position) or in a Cast to integer (a
// shape). Backward: whatever computes an operand with the role `exact` (the scales of a Resize) stays fp32.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "onnx/onnx_pb.h"

#include "ampc/model/tensors.h"
#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"
#include "ampc/passes/walk.h"

namespace ampc::passes {
namespace {

/// Where a value comes from.
enum class Source : std::uint8_t {
  constant,  // weights, creators, small integers: exact in the low type, or a matter of R25
  near,      // from integers of unknown size, by no operator on an allow list
  far,       // from integers of unknown size, through one
  mixed,     // from both, by no operator on an allow list: exact only on the way to an integer or an exact operand
  data,      // from what the model is given in floating point
};

class Exactness {
 public:
  explicit Exactness(const PassContext& c) : c_(c), m_(c.model) {}

  void run() {
    source_.assign(m_.values.size(), Source::data);
    for (ValueId v = 0; v < m_.values.size(); ++v) {
      const Value& value = m_.values[v];
      if (is_weight(value) && !value.graph_input) source_[v] = Source::constant;
    }
    walk_forward(
        m_, 0, [&](NodeId n) { forward(n); }, [&](ValueId from, ValueId to) { source_[to] = source_[from]; });
    seen_.assign(m_.values.size(), 0);
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (!is_near(n) && !(counts_here(n))) continue;
      hold(n, Reason::position, kNone);
      need_operands(n, Reason::position, false);
    }
    sinks();
    backward();
  }

 private:
  bool floating(ValueId v) const {
    const ElemType t = m_.values[v].type;
    return t == ElemType::float32 || t == ElemType::float64 || is_low(t);
  }
  bool fp32(ValueId v) const { return v != kNone && m_.values[v].tensor && m_.values[v].type == ElemType::float32; }
  bool tainted(ValueId v) const { return source_[v] == Source::near || source_[v] == Source::far; }

  bool role(NodeId n, std::size_t slot, lang::RoleAction action) const {
    for (const auto& r : c_.rules.operand_roles(m_.nodes[n].op)) {
      if (r.rule->action == action && r.has(slot)) return true;
    }
    return false;
  }

  /// What it makes are integers of unknown size, though no operand is: Range, and CumSum of ones.
  bool counts(NodeId n) const {
    for (const auto& r : c_.rules.result_roles(m_.nodes[n].op)) {
      if (r.rule->action != lang::RoleAction::exact_from_integers) continue;
      const auto operands = m_.operands_of(n);
      return std::none_of(operands.begin(), operands.end(),
                          [&](ValueId v) { return v != kNone && floating(v) && source_[v] == Source::data; });
    }
    return false;
  }

  /// The largest integer up to which the low type holds every one.
  double exact_limit(NodeId n) const { return c_.plan.nodes[n].low == ElemType::float16 ? 2048 : 256; }

  /// An integer operand of known small range: its type is narrow, or it is a constant.
  bool small_integers(ValueId v, double limit) const {
    const Value& value = m_.values[v];
    switch (value.type) {
      case ElemType::boolean:
        return true;
      case ElemType::int8:
      case ElemType::uint8:
        return limit >= 255;
      default:
        break;
    }
    if (value.weight == nullptr || value.graph_input) return false;
    const wire::Bytes bytes = tensors::bytes_of(m_, *value.weight);
    const auto within = [&]<typename T>(T) {
      for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
        T x = 0;
        std::memcpy(&x, bytes.data() + at, sizeof x);
        if (std::fabs(static_cast<double>(x)) > limit) return false;
      }
      return !bytes.empty();
    };
    if (value.type == ElemType::int64) return within(std::int64_t{});
    if (value.type == ElemType::int32) return within(std::int32_t{});
    return false;
  }

  void forward(NodeId n) {
    Source s = source_of(n);
    if (s != Source::far && counts(n)) s = Source::near;
    for (const ValueId v : m_.results_of(n)) {
      if (v != kNone) source_[v] = s;
    }
  }

  Source source_of(NodeId n) const {
    const Op& op = m_.op_of(n);
    const auto operands = m_.operands_of(n);
    if (op.is_constant) return Source::constant;
    if (op.is_cast && !operands.empty() && operands[0] != kNone) {
      const ElemType from = m_.values[operands[0]].type;
      if (is_integer(from) || from == ElemType::boolean) {
        return small_integers(operands[0], exact_limit(n)) ? Source::constant : Source::near;
      }
      return source_[operands[0]];
    }
    if (c_.plan.nodes[n].reason == Reason::attribute_type) return Source::constant;
    bool any_float = false, near = false, far = false, varies = false, mixed = false, data = false;
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
      const ValueId v = operands[slot];
      if (v == kNone) continue;
      if (!floating(v)) {
        varies |= source_[v] != Source::constant;
        continue;
      }
      any_float = true;
      data |= source_[v] == Source::data;
      mixed |= source_[v] == Source::mixed;
      if (tainted(v) && role(n, slot, lang::RoleAction::exact_from_integers)) return Source::constant;
      near |= source_[v] == Source::near;
      far |= source_[v] == Source::far;
    }
    if (mixed || data) return (mixed || near) && !c_.plan.nodes[n].listed_allow ? Source::mixed : Source::data;
    if (near || far) return far || c_.plan.nodes[n].listed_allow ? Source::far : Source::near;
    return any_float && !varies ? Source::constant : Source::data;
  }

  /// Reads integers of unknown size, and is no operator of an allow list: 70000 is no fp16 number, whatever it divides.
  bool is_near(NodeId n) const {
    if (c_.plan.nodes[n].listed_allow) return false;
    const auto operands = m_.operands_of(n);
    return std::any_of(operands.begin(), operands.end(),
                       [&](ValueId v) { return v != kNone && floating(v) && source_[v] == Source::near; });
  }

  void hold(NodeId n, Reason reason, ValueId v) {
    Decision& d = c_.plan.nodes[n];
    if (d.choice != Choice::low && d.choice != Choice::open) return;
    overrule(d, reason, v);
  }

  struct Need {
    ValueId value = kNone;
    Reason reason = Reason::none;
    bool whatever = false;  // not only as far as integers go
  };

  void need(ValueId v, Reason reason, bool whatever) {
    if (!fp32(v) || (!whatever && source_[v] == Source::data)) return;
    std::uint8_t& seen = seen_[v];
    const std::uint8_t bit = whatever ? 2 : 1;
    if ((seen & bit) != 0) return;
    seen |= bit;
    work_.push_back({v, reason, whatever});
  }

  /// A node that makes positions out of none, as `counts` says.
  bool counts_here(NodeId n) const {
    const auto results = m_.results_of(n);
    return counts(n) && !results.empty() && results[0] != kNone && fp32(results[0]) &&
           source_[results[0]] == Source::near;
  }

  /// What stands beside a position in the arithmetic is as much of the result: frequencies are computed exactly too.
  void need_operands(NodeId n, Reason reason, bool whatever) {
    for (const ValueId v : m_.operands_of(n)) {
      if (v != kNone) need(v, reason, whatever);
    }
  }

  void sinks() {
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      const auto operands = m_.operands_of(n);
      if (m_.op_of(n).is_cast) {
        const auto results = m_.results_of(n);
        if (!operands.empty() && operands[0] != kNone &&
            (tainted(operands[0]) || source_[operands[0]] == Source::mixed) && !results.empty() &&
            results[0] != kNone && is_integer(m_.values[results[0]].type)) {
          need(operands[0], Reason::shape_arithmetic, false);
        }
        continue;
      }
      for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        if (operands[slot] == kNone) continue;
        if (role(n, slot, lang::RoleAction::exact)) {
          need(operands[slot], Reason::exact_operand, true);
          hold_operand(n, slot, Reason::exact_operand);
        } else if (role(n, slot, lang::RoleAction::exact_from_integers) &&
                   (tainted(operands[slot]) || source_[operands[slot]] == Source::mixed)) {
          need(operands[slot], Reason::position, false);
          hold_operand(n, slot, Reason::position);
        }
      }
    }
  }

  /// The reader itself reads the exact value as it is.
  void hold_operand(NodeId n, std::size_t slot, Reason reason) {
    Decision& d = c_.plan.nodes[n];
    const int var = operand_var(m_.op_of(n), slot);
    if (!has_var(d.vars, var)) return;
    drop_var(d, var);
    if (d.vars == 0) hold(n, reason, m_.operands_of(n)[slot]);
  }

  void backward() {
    while (!work_.empty()) {
      const Need item = work_.back();
      work_.pop_back();
      const NodeId n = m_.values[item.value].producer;
      if (n == kNone) continue;
      for (const BlockId b : m_.bodies_of(n)) {
        for (const ValueId v : m_.blocks[b].outputs) need(v, item.reason, item.whatever);
      }
      if (!m_.op_of(n).is_cast) hold(n, item.reason, item.value);
      need_operands(n, item.reason, item.whatever);
    }
  }

  const PassContext& c_;
  const Model& m_;
  std::vector<Source> source_;
  std::vector<std::uint8_t> seen_;
  std::vector<Need> work_;
};

}  // namespace

void keep_exact(const PassContext& c) { Exactness(c).run(); }

}  // namespace ampc::passes
