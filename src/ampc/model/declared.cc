#include "ampc/model/declared.h"

#include <fmt/format.h>

#include "ampc/diag/model_codes.h"
#include "ampc/diag/suggest.h"

namespace ampc {
namespace {

NodeId first_node(const Model& m, OpId op) {
  NodeId n = 0;
  while (m.nodes[n].op != op) ++n;
  return n;
}

/// An operator that has a home, of which the home knows nothing.
void report_unknown(const Model& m, OpId id, const Operators& operators, Diagnostics& diagnostics) {
  const Op& op = m.ops[id];
  const std::string domain = op.domain.empty() ? "ai.onnx" : std::string(op.domain);
  const std::string where = m.where(first_node(m, id));
  const auto versions = operators.versions(op.domain, op.name);
  if (op.version == 0) {
    diagnostics
        .error(codes::kUnknownOperator,
               fmt::format("the model uses '{}' of domain {} but imports no opset of it", op.name, domain))
        .in(where)
        .fix("add the domain to the model's opset_import");
    return;
  }
  auto& d =
      diagnostics
          .error(codes::kUnknownOperator, fmt::format("{} opset {} has no operator '{}'", domain, op.version, op.name))
          .in(where);
  if (!versions.empty()) {
    d.fix(fmt::format("it is there from opset {}; raise the model's opset", versions.front()->since_version));
    if (versions.front()->is_declared()) d.also(versions.front()->declared, "declared here");
  } else if (const auto near = nearest(op.name, operators.operators(op.domain))) {
    d.fix(fmt::format("did you mean '{}'? An operator of your own belongs in a domain of its own", *near));
  } else {
    d.fix("an operator of your own belongs in a domain of its own");
  }
}

}  // namespace

bool bind_declared(Model& m, const Operators& operators, Diagnostics& diagnostics) {
  bool known = true;
  for (OpId id = 0; id < m.ops.size(); ++id) {
    Op& op = m.ops[id];
    if (op.signature != nullptr || op.is_call) continue;
    op.signature = operators.find(op.domain, op.name, op.version);
    if (op.signature != nullptr) continue;
    if (!Schemas::get().has_domain(op.domain) && operators.versions(op.domain, op.name).empty()) continue;
    known = false;
    report_unknown(m, id, operators, diagnostics);
  }
  return known;
}

std::string contradiction(const Model& m, NodeId n) {
  const Signature* s = m.op_of(n).signature;
  if (s == nullptr || !s->is_declared()) return {};
  std::vector<ValueId> bound(s->type_vars.size(), kNone);
  const auto against = [&](std::span<const ValueId> values, bool results) -> std::string {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Formal* f = results ? s->output(i) : s->input(i);
      if (f == nullptr) {
        return fmt::format("the node has {} {}, the declaration {}", values.size(), results ? "results" : "operands",
                           results ? s->outputs.size() : s->inputs.size());
      }
      if (values[i] == kNone) continue;
      const Value& v = m.values[values[i]];
      if (!v.tensor && f->tensor_only) return fmt::format("'{}' is no tensor, {} is declared as one", v.name, f->name);
      if (!v.tensor || v.type == ElemType::undefined) continue;
      if (!f->elems.contains(v.type))
        return fmt::format("'{}' is {}, which {} is not declared to be", v.name, short_name(v.type), f->name);
      if (f->type_var == kNoTypeVar || (f->variadic && !f->homogeneous)) continue;
      ValueId& first = bound[static_cast<std::size_t>(f->type_var)];
      if (first == kNone) first = values[i];
      if (m.values[first].type != v.type) {
        return fmt::format("'{}' is {} and '{}' is {}, where one type is declared ({})", m.values[first].name,
                           short_name(m.values[first].type), v.name, short_name(v.type),
                           s->type_vars[static_cast<std::size_t>(f->type_var)].name);
      }
    }
    return {};
  };
  if (std::string found = against(m.operands_of(n), false); !found.empty()) return found;
  if (std::string found = against(m.results_of(n), true); !found.empty()) return found;
  const auto operands = m.operands_of(n);
  for (std::size_t i = 0; i < s->inputs.size(); ++i) {
    const Formal& f = s->inputs[i];
    if (f.optional || f.variadic || (i < operands.size() && operands[i] != kNone)) continue;
    // What ONNX calls an attribute reads like one operand more.
    const bool attribute = m.attribute(n, f.name) != nullptr;
    return fmt::format("the operand '{}' is missing{}", f.name,
                       attribute ? "; the node has an attribute of that name, which is declared in <...>" : "");
  }
  for (const AttrFormal& a : s->attributes) {
    if (a.required && m.attribute(n, a.name) == nullptr) return fmt::format("the attribute '{}' is missing", a.name);
  }
  return {};
}

}  // namespace ampc
