// R6, R8: a kept operand that is computed from a weight alone (an exporter's Identity, a Transpose, a Reshape) is fp32
// all the way back to the weight; it would be rounded on the way otherwise.
#include "ampc/passes/passes.h"
#include "ampc/passes/weight_chain.h"

namespace ampc::passes {
namespace {

class WeightRoles {
 public:
  explicit WeightRoles(const PassContext& c) : c_(c), m_(c.model) {}

  void run() {
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      const auto operands = m_.operands_of(n);
      if (c_.rules.operand_roles(m_.nodes[n].op).empty()) continue;
      for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        if (operands[slot] == kNone || m_.values[operands[slot]].type != ElemType::float32) continue;
        if (const auto* rule = role_at(n, slot)) hold(operands[slot], *rule);
      }
    }
  }

 private:
  const lang::RoleRule* role_at(NodeId n, std::size_t slot) const {
    const Options& o = c_.rules.options(n);
    for (const auto& r : c_.rules.operand_roles(m_.nodes[n].op)) {
      if (r.rule->action == lang::RoleAction::keep_fp32 && r.has(slot) && r.rule->when.holds(o.level, o.dtype) &&
          c_.rules.scope_depth(r.rule->scope, n) >= 0)
        return r.rule;
    }
    return nullptr;
  }

  void hold(ValueId v, const lang::RoleRule& rule) {
    if (is_weight(m_.values[v]) || weight_behind(m_, v) == kNone) return;
    for (; !is_weight(m_.values[v]); v = passed_on(m_, m_.values[v].producer)) {
      Decision& d = c_.plan.nodes[m_.values[v].producer];
      if (d.choice == Choice::low || d.choice == Choice::open) overrule(d, Reason::kept_operand, v, rule.span);
    }
  }

  const PassContext& c_;
  const Model& m_;
};

}  // namespace

void keep_weight_roles(const PassContext& c) { WeightRoles(c).run(); }

}  // namespace ampc::passes
