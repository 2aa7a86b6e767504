// How operands bind to type variables: shared by the passes.
#pragma once

#include "ampc/passes/plan.h"

namespace ampc {

/// The type variable that decides an operand's (a result's) type; kNoTypeVar where its type is fixed, or its own.
inline int var_of(const Formal* f) {
  return f == nullptr || (f->variadic && !f->homogeneous) ? kNoTypeVar : f->type_var;
}
inline int operand_var(const Op& op, std::size_t slot) {
  return op.signature == nullptr ? kNoTypeVar : var_of(op.signature->input(slot));
}
inline int result_var(const Op& op, std::size_t slot) {
  return op.signature == nullptr ? kNoTypeVar : var_of(op.signature->output(slot));
}
inline bool has_var(std::uint32_t vars, int var) {
  return var >= 0 && var < 32 && ((vars >> static_cast<unsigned>(var)) & 1U) != 0;
}

/// The node no longer lowers a type variable.
inline void drop_var(Decision& d, int var) {
  if (has_var(d.vars, var)) d.vars &= ~(1U << static_cast<unsigned>(var));
}

/// What an analysis finds stands above the lists.
inline void overrule(Decision& d, Reason reason, ValueId v, const Span& rule = {}) {
  d.choice = Choice::fp32;
  d.reason = reason;
  d.value = v;
  d.rule = rule;
}

/// A weight of fp32 that the compiler may store in another type: an initializer or a Constant node's value.
inline bool is_weight(const Value& v) { return v.weight != nullptr || v.kind == ValueKind::initializer; }

/// What a cast of the model's own widens from a low type to fp32; kNone where `v` is no such cast's result.
inline ValueId widened_from(const Model& m, ValueId v) {
  const NodeId p = m.values[v].producer;
  if (p == kNone || m.values[v].type != ElemType::float32 || !m.op_of(p).is_cast || m.operands_of(p).empty())
    return kNone;
  const ValueId u = m.operands_of(p)[0];
  return u != kNone && is_low(m.values[u].type) ? u : kNone;
}

/// A cast of the model's own to the type that its operand has, fp32 or a low one: it can be read past. Of a weight or a
/// creator it cannot:
/// what these become depends on who reads them.
inline bool changes_nothing(const Model& m, const Plan& plan, NodeId n) {
  if (!m.op_of(n).is_cast || m.operands_of(n).empty() || m.results_of(n).empty()) return false;
  const ValueId from = m.operands_of(n)[0], to = m.results_of(n)[0];
  if (from == kNone || to == kNone || !m.values[from].tensor || is_weight(m.values[from])) return false;
  const NodeId p = m.values[from].producer;
  if (p != kNone && (plan.nodes[p].reason == Reason::attribute_type || plan.nodes[p].reason == Reason::creator_low))
    return false;
  const ElemType t = m.values[from].type;
  return t == m.values[to].type && (t == ElemType::float32 || is_low(t));
}

/// The operand may come in any of its types without a cast: it shares its type variable with no other operand, and what
/// the operator makes of it is no floating point (Shape, Size, NonZero, IsNaN, ArgMax), as its schema shows.
inline bool takes_as_it_comes(const Op& op, std::size_t slot) {
  if (op.signature == nullptr) return false;
  const Formal* f = op.signature->input(slot);
  const int var = var_of(f);
  if (var == kNoTypeVar || f->variadic) return false;
  for (const Formal& in : op.signature->inputs) {
    if (&in != f && in.type_var == var) return false;
  }
  for (const Formal& out : op.signature->outputs) {
    if (!out.tensor_only || out.elems.contains(ElemType::float32)) return false;
  }
  return true;
}

}  // namespace ampc
