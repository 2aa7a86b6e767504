// R4: mixed operand types that the schema's variables allow and onnx's own inference refuses.
//
// RMSNormalization-23 gives Y the type variable of its scale, and its inference function gives Y the type of X. Where a
// node would read some operands low and others fp32, the function is asked; if it disagrees, the node runs in fp32 as a
// whole.
#include "onnx/onnx_pb.h"

#include "ampc/model/node_inference.h"
#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

bool is_mixed(const Model& m, const Decision& d, NodeId n) {
  bool low = false, fp32 = false;
  const auto operands = m.operands_of(n);
  for (std::size_t slot = 0; slot < operands.size(); ++slot) {
    if (operands[slot] == kNone || m.values[operands[slot]].type != ElemType::float32) continue;
    const int var = operand_var(m.op_of(n), slot);
    if (var == kNoTypeVar) continue;  // a fixed type is no choice
    (has_var(d.vars, var) ? low : fp32) = true;
  }
  return low && fp32;
}

/// The inference function names operands by value; one that is bound to two positions is taken by the first.
bool agrees(const Model& m, const Decision& d, NodeId n) {
  const Op& op = m.op_of(n);
  const auto operands = m.operands_of(n);
  const auto types = infer_node(m, n, *m.nodes[n].proto, [&](ValueId v) {
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
      if (operands[slot] == v) return operand_lowers(m, d, n, slot) ? d.low : m.values[v].type;
    }
    return m.values[v].type;
  });
  const auto results = m.results_of(n);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kNone || m.values[results[i]].type != ElemType::float32 || types[i].type == ElemType::undefined)
      continue;
    const int var = result_var(op, i);
    if (var != kNoTypeVar && !op.signature->type_vars[static_cast<std::size_t>(var)].bound_by_input) continue;
    if (types[i].type != (has_var(d.vars, var) ? d.low : ElemType::float32)) return false;
  }
  return true;
}

}  // namespace

void check_mixed(const PassContext& c) {
  for (NodeId n = 0; n < c.model.nodes.size(); ++n) {
    Decision& d = c.plan.nodes[n];
    if (d.choice != Choice::low && d.choice != Choice::open) continue;
    if (is_mixed(c.model, d, n) && !agrees(c.model, d, n)) overrule(d, Reason::tied_operands, kNone);
  }
}

}  // namespace ampc::passes
