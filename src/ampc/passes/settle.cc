// R14, R15: nodes that follow their operands.
#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

class Settler {
 public:
  explicit Settler(const PassContext& c) : c_(c), m_(c.model) {}

  // Blocks are numbered outer first and nodes in topological order, so what a node reads is settled before it. The
  // results of a node with bodies keep their types, whatever happens inside.
  void run() {
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      Decision& d = c_.plan.nodes[n];
      if (d.choice != Choice::open) continue;
      d.promote ? promote(n, d) : follow(n, d);
    }
  }

 private:
  enum class Made : std::uint8_t { undecided, low, fp32 };

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
