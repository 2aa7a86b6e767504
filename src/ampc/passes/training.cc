// R27: what the rules say of a training graph, found in the model: parameters and states of optimizers, the way of a
// gradient from the backward pass through an all-reduce to its optimizer, and loss scales.
#include <algorithm>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/tensors.h"
#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"
#include "ampc/passes/walk.h"

namespace ampc::passes {
namespace {

using Part = lang::OptimizerRule::Part;
using Held = Training::Held;
using Step = Training::Step;

class Finder {
 public:
  explicit Finder(const PassContext& c) : c_(c), m_(c.model), t_(c.plan.training) {}

  void run() {
    find_scales();
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (const auto* rule = c_.rules.optimizer(m_.nodes[n].op); rule != nullptr) optimizer(n, *rule);
    }
    report_io();
  }

 private:
  bool fp32(ValueId v) const { return v != kNone && m_.values[v].tensor && m_.values[v].type == ElemType::float32; }

  // ---- loss scales -----------------------------------------------------------------------------------------------

  void find_scales() {
    bool any = false;
    std::vector<std::uint8_t> scales(m_.values.size(), 0);
    for (const auto& r : c_.rules.rules().tensors) {
      if (r.action != lang::TensorAction::scale) continue;
      for (ValueId v = 0; v < m_.values.size(); ++v) {
        if (!fp32(v) || !r.pattern.matches(m_.values[v].name)) continue;
        scales[v] = 1;
        any = true;
      }
    }
    if (!any) return;
    walk_forward(
        m_, 0,
        [&](NodeId n) {
          bool scale = false, other = false;
          for (const ValueId v : m_.operands_of(n)) {
            if (!fp32(v)) continue;
            (scales[v] != 0 ? scale : other) |= scales[v] != 0 || !is_weight(m_.values[v]);
          }
          if (!scale || other) return;
          for (const ValueId v : m_.results_of(n)) {
            if (fp32(v)) scales[v] = 1;
          }
        },
        [&](ValueId from, ValueId to) { scales[to] |= scales[from]; });
    t_.scales = std::move(scales);
  }

  // ---- optimizers ------------------------------------------------------------------------------------------------

  void optimizer(NodeId n, const lang::OptimizerRule& rule) {
    if (t_.held.empty()) {
      t_.held.assign(m_.values.size(), Held::none);
      t_.steps.assign(m_.nodes.size(), Step::none);
    }
    static const std::vector<Formal> none;
    const Signature* s = m_.op_of(n).signature;
    const auto& formals = s == nullptr ? none : s->inputs;
    const auto operands = m_.operands_of(n);
    std::vector<Part> parts(operands.size(), Part::state);  // a learning rate is as exact as a state
    for (const auto& slot : rule.slots) {
      const int at = position_of(slot.operand, formals);
      if (at < 0 || static_cast<std::size_t>(at) >= operands.size()) continue;
      const auto first = static_cast<std::size_t>(at);
      const bool variadic = first < formals.size() ? formals[first].variadic : slot.parts.size() > 1;
      const std::size_t count = variadic ? operands.size() - first : 1;
      if (count % slot.parts.size() != 0) {
        c_.diagnostics
            .error(codes::kBadNode, fmt::format("the optimizer has {} operands from position {} on, which are no {} "
                                                "equal stretches",
                                                count, first + 1, slot.parts.size()))
            .in(m_.where(n))
            .also(rule.span, "as this says");
        continue;
      }
      for (std::size_t i = 0; i < count; ++i) parts[first + i] = slot.parts[i / (count / slot.parts.size())];
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == kNone) continue;
      if (parts[i] == Part::gradient) {
        trace(operands[i]);
      } else {
        hold(operands[i], parts[i] == Part::parameter ? Held::parameter : Held::operand);
      }
    }
    // What comes out are the next parameters and states.
    for (const ValueId v : m_.results_of(n)) {
      if (fp32(v)) hold(v, Held::operand);
    }
  }

  void hold(ValueId v, Held how) {
    if (m_.values[v].tensor) {
      t_.held[v] = std::max(t_.held[v], how);
      return;
    }
    const NodeId p = m_.values[v].producer;  // of a sequence, what it is made of
    if (p == kNone) return;
    for (const ValueId u : m_.operands_of(p)) {
      if (u != kNone) hold(u, how);
    }
  }

  // ---- the way of a gradient -------------------------------------------------------------------------------------

  bool one_element(ValueId v) const {
    const Value& value = m_.values[v];
    if (value.weight != nullptr) return tensors::element_count(*value.weight) == 1;
    if (value.rank == 0) return true;
    if (value.declared == nullptr || !value.declared->tensor_type().has_shape()) return false;
    const auto& dims = value.declared->tensor_type().shape().dim();
    return std::all_of(dims.begin(), dims.end(), [](const auto& d) { return d.has_dim_value() && d.dim_value() == 1; });
  }

  /// The operand through which a gradient comes into a node that scales it, clips it, moves it; kNone where more than
  /// one may be it: that is where gradients are made.
  ValueId carrier(NodeId n) const {
    ValueId found = kNone;
    std::size_t floats = 0, tensors = 0;
    for (const ValueId v : m_.operands_of(n)) {
      if (v == kNone || !m_.values[v].tensor || is_weight(m_.values[v]) || t_.scale(v)) continue;
      if (m_.values[v].type != ElemType::float32 && !is_low(m_.values[v].type)) continue;
      ++floats;
      if (!one_element(v)) ++tensors;
      if (found == kNone || !one_element(v)) found = v;
    }
    return floats == 1 || tensors == 1 ? found : kNone;
  }

  /// From an optimizer's operand back to the all-reduce that it comes through, if there is one.
  void trace(ValueId v) {
    std::vector<NodeId> way;
    while (v != kNone) {
      const NodeId n = m_.values[v].producer;
      if (n == kNone || !m_.bodies_of(n).empty() || c_.rules.optimizer(m_.nodes[n].op) != nullptr) return;
      if (c_.rules.collective(m_.nodes[n].op) != nullptr) {
        for (const NodeId after : way) t_.steps[after] = Step::reduced;
        reduce(n);
        return;
      }
      if (!m_.values[v].tensor) {
        for (const ValueId u : m_.operands_of(n)) {
          if (u != kNone) trace(u);
        }
        return;
      }
      way.push_back(n);
      v = carrier(n);
    }
  }

  /// An all-reduce, and those right before it: a sum within a machine, then one over machines.
  void reduce(NodeId n) {
    if (t_.steps[n] == Step::reduce) return;
    t_.steps[n] = Step::reduce;
    for (const ValueId v : m_.operands_of(n)) {
      const NodeId p = v == kNone ? kNone : m_.values[v].producer;
      if (p != kNone && c_.rules.collective(m_.nodes[p].op) != nullptr) reduce(p);
    }
  }

  // ---- what cannot be had ----------------------------------------------------------------------------------------

  void report_io() {
    if (t_.held.empty()) return;
    for (const auto& r : c_.rules.rules().io) {
      if (r.io != lang::Io::low) continue;
      for (const auto* list : {&m_.blocks[0].inputs, &m_.blocks[0].outputs}) {
        const auto held = std::find_if(list->begin(), list->end(), [&](ValueId v) {
          return t_.is_held(v) && fp32(v) && r.pattern.matches(m_.values[v].name);
        });
        if (held == list->end()) continue;
        c_.diagnostics
            .warning(codes::kNoEffect, fmt::format("`io low` has no effect on '{}': what an optimizer reads and "
                                                   "makes stays fp32, save gradients",
                                                   m_.values[*held].name))
            .at(r.span);
        break;
      }
    }
  }

  const PassContext& c_;
  const Model& m_;
  Training& t_;
};

/// After an all-reduce has become low, what reads the cast that it no longer reads.
class GradientCasts {
 public:
  explicit GradientCasts(const PassContext& c) : c_(c), m_(c.model) {}

  void run() {
    if (c_.plan.training.steps.empty()) return;
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (!moves_behind(n)) continue;
      for (const ValueId v : m_.operands_of(n)) {
        if (v != kNone && widened_from(m_, v) != kNone) check(n, v);
      }
    }
  }

 private:
  bool moves_behind(NodeId n) const {
    return c_.plan.training.step(n) == Step::reduce && c_.plan.nodes[n].choice == Choice::low;
  }

  bool allowed(NodeId reader) const {
    if (moves_behind(reader) || c_.rules.optimizer(m_.nodes[reader].op) != nullptr) return true;
    // A sequence of gradients that an optimizer takes.
    const auto results = m_.results_of(reader);
    return !results.empty() && std::all_of(results.begin(), results.end(), [&](ValueId v) {
      if (v == kNone) return true;
      const auto readers = c_.readers.of(v);
      return !m_.values[v].tensor && !readers.empty() &&
             std::all_of(readers.begin(), readers.end(), [&](const Reader& r) { return allowed(r.node); });
    });
  }

  void check(NodeId reduce, ValueId v) {
    std::string other;
    for (const Reader& r : c_.readers.of(v)) {
      if (other.empty() && !allowed(r.node))
        other = fmt::format("{} reads '{}' too", m_.describe(r.node), m_.values[v].name);
    }
    if (other.empty() && c_.readers.given_out(v)) other = fmt::format("'{}' is an output too", m_.values[v].name);
    if (other.empty() || std::find(reported_.begin(), reported_.end(), v) != reported_.end()) return;
    reported_.push_back(v);
    const std::string_view gradient = m_.values[widened_from(m_, v)].name;
    const Op& op = m_.op_of(reduce);
    c_.diagnostics
        .error(codes::kGradientCast,
               fmt::format("{} casts the gradient '{}' before its all-reduce, {}, and cannot move behind it: {}",
                           m_.describe(m_.values[v].producer), gradient, m_.describe(reduce), other))
        .in(m_.path)
        .fix(
            fmt::format("let the other read what is reduced, or a cast of its own of '{}'; `deny {}{}` leaves the cast "
                        "where it is",
                        gradient, op.domain.empty() ? "" : fmt::format("{}::", op.domain), op.name));
  }

  const PassContext& c_;
  const Model& m_;
  std::vector<ValueId> reported_;
};

}  // namespace

void find_training(const PassContext& c) { Finder(c).run(); }
void check_gradients(const PassContext& c) { GradientCasts(c).run(); }

}  // namespace ampc::passes
