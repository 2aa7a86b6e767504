// R14, R15: nodes that follow their operands.
#include <algorithm>

#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"
#include "ampc/passes/walk.h"

namespace ampc::passes {
namespace {

class Settler {
 public:
  explicit Settler(const PassContext& c) : c_(c), m_(c.model) {}

  void run() {
    c_.plan.low_results.assign(m_.values.size(), 0);
    walk_forward(
        m_, 0,
        [&](NodeId n) {
          Decision& d = c_.plan.nodes[n];
          if (d.choice != Choice::open) return;
          d.promote ? promote(n, d) : follow(n, d);
        },
        [](ValueId, ValueId) {}, [&](NodeId n) { join_branches(n); });
    ask_readers();
  }

 private:
  enum class Made : std::uint8_t { undecided, low, fp32 };

  /// A node that no operand decides went low (R14). Where every reader turned out fp32 it would be cast for and cast
  /// back, and round what the model is given to no end.
  void ask_readers() {
    for (NodeId n = static_cast<NodeId>(m_.nodes.size()); n-- > 0;) {
      Decision& d = c_.plan.nodes[n];
      if (d.reason != Reason::follow_none || d.choice != Choice::low) continue;
      bool read = false, low = false;
      for (const ValueId v : m_.results_of(n)) {
        if (v == kNone || m_.values[v].type != ElemType::float32) continue;
        low |= c_.readers.given_out(v);
        for (const Reader& r : c_.readers.of(v)) {
          read = true;
          const Decision& reader = c_.plan.nodes[r.node];
          low |= reader.choice == Choice::low && operand_lowers(m_, reader, r.node, r.slot);
          low |= m_.op_of(r.node).is_cast || takes_as_it_comes(m_.op_of(r.node), r.slot);
        }
      }
      if (read && !low) set(d, Choice::fp32, Reason::readers_fp32, kNone);
    }
  }

  /// R19: a result that every branch makes low is low; the interface of a body that may repeat keeps its types.
  void join_branches(NodeId n) {
    const auto bodies = m_.bodies_of(n);
    if (std::any_of(bodies.begin(), bodies.end(), [&](BlockId b) { return m_.blocks[b].repeats; })) return;
    const auto results = m_.results_of(n);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNone || m_.values[results[i]].type != ElemType::float32 || !m_.values[results[i]].tensor)
        continue;
      const ElemType low = c_.rules.options(n).dtype;
      if (const Op& op = m_.op_of(n); !op.is_call) {
        const Signature* s = op.signature;
        if (s == nullptr || s->is_declared() || s->output(i) == nullptr || !s->output(i)->elems.contains(low)) continue;
      }
      c_.plan.low_results[results[i]] = std::all_of(bodies.begin(), bodies.end(), [&](BlockId b) {
        if (i >= m_.blocks[b].outputs.size()) return false;
        const ValueId v = m_.blocks[b].outputs[i];
        const NodeId p = m_.values[v].producer;
        return m_.values[v].block == b && !is_weight(m_.values[v]) && made(v, false, 0) == Made::low &&
               (p == kNone || c_.plan.nodes[p].choice != Choice::low || c_.plan.nodes[p].low == low);
      });
    }
  }

  /// In which type an operand comes. Main inputs, weights and R20 creators decide nothing under `follow`.
  Made made(ValueId v, bool promote, std::uint32_t level) const {
    const Value& value = m_.values[v];
    if (is_low(value.type)) return Made::low;
    if (value.type != ElemType::float32) return Made::undecided;
    if (is_weight(value)) {
      const bool stays = c_.rules.rules().levels[level].weights != lang::Level::Weights::low;
      return promote && stays ? Made::fp32 : Made::undecided;
    }
    if (value.producer == kNone) return promote || value.block != 0 ? Made::fp32 : Made::undecided;
    if (c_.plan.low_results[v] != 0) return Made::low;
    if (c_.rules.settings().rewrite_redundant.value_or(true) && changes_nothing(m_, c_.plan, value.producer))
      return made(m_.operands_of(value.producer)[0], promote, level);
    const Decision& d = c_.plan.nodes[value.producer];
    if (d.reason == Reason::attribute_type) return promote ? Made::fp32 : Made::undecided;
    if (d.choice != Choice::low) return Made::fp32;
    return has_var(d.vars, result_var(m_.op_of(value.producer), value.slot)) ? Made::low : Made::fp32;
  }

  void promote(NodeId n, Decision& d) {
    const auto operands = m_.operands_of(n);
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
      if (operands[slot] == kNone || !operand_lowers(m_, d, n, slot)) continue;
      if (made(operands[slot], true, c_.rules.options(n).level) != Made::fp32) continue;
      set(d, Choice::fp32, Reason::promote_fp32, operands[slot]);
      return;
    }
    set(d, Choice::low, Reason::promote_low, kNone);
  }

  void follow(NodeId n, Decision& d) {
    const bool last = c_.rules.options(n).follow == lang::FollowMode::last;
    ValueId fp32 = kNone, low = kNone, decisive = kNone;
    bool decisive_low = false;
    const auto operands = m_.operands_of(n);
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
      const ValueId v = operands[slot];
      if (v == kNone || !operand_lowers(m_, d, n, slot)) continue;
      const Made how = made(v, false, c_.rules.options(n).level);
      if (how == Made::undecided) continue;
      decisive = v;
      decisive_low = how == Made::low;
      (decisive_low ? low : fp32) = v;
    }
    if (decisive == kNone) {
      // A node that makes nothing in floating point would be cast for to no end.
      bool makes_float = false;
      for (const ValueId v : m_.results_of(n)) makes_float |= v != kNone && m_.values[v].type == ElemType::float32;
      set(d, makes_float ? Choice::low : Choice::fp32, Reason::follow_none, kNone);
    } else if (last ? !decisive_low : fp32 != kNone) {
      set(d, Choice::fp32, Reason::follow_fp32, last ? decisive : fp32);
    } else {
      set(d, Choice::low, Reason::follow_low, last ? decisive : low);
    }
  }

  static void set(Decision& d, Choice choice, Reason reason, ValueId v) {
    d.choice = choice;
    d.reason = reason;
    d.value = v;
  }

  const PassContext& c_;
  const Model& m_;
};

}  // namespace

void settle(const PassContext& c) { Settler(c).run(); }

}  // namespace ampc::passes
