#include "ampc/passes/plan.h"

#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"

namespace ampc {

std::string_view reason_text(Reason r) {
  switch (r) {
    case Reason::none:
      return "not decided";
    case Reason::no_float:
      return "nothing of it is fp32";
    case Reason::double_operand:
      return "a double operand";
    case Reason::no_schema:
      return "an operator that nothing declares";
    case Reason::against_declaration:
      return "not what is declared of the operator";
    case Reason::unknown_type:
      return "nothing tells the type of an operand";
    case Reason::not_a_tensor:
      return "a sequence, optional, map or sparse tensor";
    case Reason::control_flow:
      return "control flow keeps its interface";
    case Reason::function_call:
      return "a call, whose body is decided node by node";
    case Reason::attribute_type:
      return "an attribute gives its type";
    case Reason::creator_low:
      return "an attribute gives its type, and every reader wants it low";
    case Reason::constant:
      return "a constant";
    case Reason::user_cast:
      return "a cast of the model's own";
    case Reason::left_by_rule:
      return "leave";
    case Reason::level_off:
      return "the level is off";
    case Reason::unsupported_schema:
      return "the schema does not admit the low type at this opset";
    case Reason::unsupported_rule:
      return "unsupported";
    case Reason::tied_role:
      return "a kept operand that the schema ties to the others";
    case Reason::tied_operands:
      return "onnx's inference wants one type for operands that would differ";
    case Reason::kept_operand:
      return "on the way from a weight to an operand that a role keeps";
    case Reason::overflow:
      return "reads a weight that the low type cannot hold";
    case Reason::underflow:
      return "reads a small constant that would vanish or be subnormal";
    case Reason::attribute:
      return "computes with an attribute that would vanish";
    case Reason::range_operand:
      return "reads what is computed from a value that the low type cannot hold";
    case Reason::exact_operand:
      return "on the way to an operand that must be exact";
    case Reason::shape_arithmetic:
      return "shape arithmetic";
    case Reason::position:
      return "positions computed from integers";
    case Reason::tensor_rule:
      return "a tensor rule";
    case Reason::loss_scale:
      return "reads a loss scale";
    case Reason::weight_rule:
      return "reads what a weight rule keeps";
    case Reason::outside_guard:
      return "in no guarded scope";
    case Reason::node_rule:
      return "a node rule";
    case Reason::optimizer:
      return "an optimizer";
    case Reason::reduced:
      return "between a gradient's all-reduce and the optimizer";
    case Reason::backward:
      return "backward of";
    case Reason::collective_low:
      return "a collective of low operands";
    case Reason::collective_fp32:
      return "a collective with an operand in fp32";
    case Reason::pattern:
      return "pattern";
    case Reason::pattern_as_one:
      return "another part of it stays fp32";
    case Reason::deny:
      return "deny";
    case Reason::allow:
      return "allow";
    case Reason::follow_none:
      return "follow: no operand decides";
    case Reason::readers_fp32:
      return "follow: no operand decides, and every reader is fp32";
    case Reason::follow_low:
      return "follow: low operands";
    case Reason::follow_fp32:
      return "follow: an operand is made in fp32";
    case Reason::promote_low:
      return "promote: no operand is fp32";
    case Reason::promote_fp32:
      return "promote: an operand is fp32";
    case Reason::level_default:
      return "the level's default";
    case Reason::cut_low:
      return "gray cut: low, for the fewest bytes cast";
    case Reason::cut_fp32:
      return "gray cut: fp32, for the fewest bytes cast";
    case Reason::moved_low:
      return "moves elements: low, so that less is cast";
    case Reason::moved_fp32:
      return "moves elements: fp32, so that less is cast";
  }
  return "";
}

bool operand_lowers(const Model& m, const Decision& d, NodeId n, std::size_t slot) {
  const ValueId v = m.operands_of(n)[slot];
  return v != kNone && m.values[v].type == ElemType::float32 && has_var(d.vars, operand_var(m.op_of(n), slot));
}

Access operand_access(const Model& m, const Plan& plan, NodeId n, std::size_t slot) {
  const Op& op = m.op_of(n);
  const Decision& d = plan.nodes[n];
  const ValueId v = m.operands_of(n)[slot];
  if (op.is_cast) return {m.values[v].type, true};
  if (m.values[v].type == ElemType::float32 && takes_as_it_comes(op, slot) && !d.no_kernel) {
    const ElemType home = plan.home.empty() ? d.low : plan.home[v];
    if (op.signature->input(slot)->elems.contains(home)) return {ElemType::float32, true};
    return {ElemType::float32, false};
  }
  if (d.choice == Choice::low && operand_lowers(m, d, n, slot)) return {d.low, false};
  return {m.values[v].type, false};
}

Plan make_plan(const Model& model, const RuleIndex& rules, Diagnostics& diagnostics, bool assume,
               const weights::Measure& measure) {
  Plan plan;
  plan.low = rules.model_options().dtype;
  const Readers readers(model);
  const PassContext c{model, rules, readers, diagnostics, plan, assume, measure};
  passes::report_scope_conflicts(c);
  passes::match_patterns(c);
  passes::report_unused(c);
  passes::find_training(c);
  passes::classify(c);
  passes::follow_forward(c);
  passes::keep_weight_roles(c);
  passes::guard_ranges(c);
  passes::keep_exact(c);
  passes::check_mixed(c);
  passes::unite_patterns(c);
  passes::cut(c);
  passes::settle(c);
  passes::move_casts(c);
  passes::check_gradients(c);
  passes::type_values(c);
  passes::place_casts(c);
  for (NodeId n = 0; n < model.nodes.size(); ++n) {
    switch (plan.nodes[n].choice) {
      case Choice::low:
        ++plan.low_nodes;
        break;
      case Choice::fp32:
        ++plan.fp32_nodes;
        break;
      default:
        ++plan.left_nodes;
    }
  }
  return plan;
}

}  // namespace ampc
