// R12.1: operators of which nothing is known, and nodes behind them whose types nothing tells.
//
// One warning an operator, with the declaration that would change that: what the model shows of it, in the rule
// language's own words.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/lang/declare.h"
#include "ampc/model/declared.h"
#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

/// What nodes of one operator have at one position.
struct Column {
  std::vector<ElemType> types;  // by node; undefined where nothing tells or nothing stands
  bool always = true;
  bool tensor = true;
  bool known() const {
    return std::any_of(types.begin(), types.end(), [](ElemType t) { return t != ElemType::undefined; });
  }
  ElemTypeSet set() const {
    ElemTypeSet s;
    for (const ElemType t : types) {
      if (t != ElemType::undefined) s.insert(t);
    }
    return s;
  }
  /// One type in every node that shows both?
  bool agrees(const Column& other) const {
    for (std::size_t i = 0; i < types.size(); ++i) {
      const bool both = types[i] != ElemType::undefined && other.types[i] != ElemType::undefined;
      if (both && types[i] != other.types[i]) return false;
    }
    return true;
  }
  /// A type variable says more than a type: others may be added to it.
  bool varies() const {
    const ElemTypeSet s = set();
    ElemTypeSet one;
    one.insert(types[static_cast<std::size_t>(
        std::find_if(types.begin(), types.end(), [](ElemType t) { return t != ElemType::undefined; }) -
        types.begin())]);
    return !(s == one) || s.contains(ElemType::float32) || s.contains(ElemType::float16) ||
           s.contains(ElemType::bfloat16);
  }
};

class Sketch {
 public:
  Sketch(const Model& m, const std::vector<NodeId>& nodes) : m_(m), op_(m.op_of(nodes.front())), nodes_(nodes) {}

  Signature run() {
    Signature s;
    s.domain = op_.domain;
    s.name = op_.name;
    formals(s, false);
    formals(s, true);
    for (std::size_t i = 0; i < s.type_vars.size(); ++i) {
      s.type_vars[i].name = s.type_vars.size() == 1 ? "T" : fmt::format("T{}", i + 1);
    }
    attributes(s);
    return s;
  }

  /// The first value whose type the declaration has to tell; kNone where the model shows all.
  ValueId untold() const {
    for (const NodeId n : nodes_) {
      for (const ValueId v : m_.results_of(n)) {
        if (v != kNone && m_.values[v].tensor && m_.values[v].type == ElemType::undefined) return v;
      }
    }
    return kNone;
  }

 private:
  std::vector<Column> columns(bool results) const {
    std::vector<Column> list;
    for (const NodeId n : nodes_)
      list.resize(std::max(list.size(), (results ? m_.results_of(n) : m_.operands_of(n)).size()));
    for (const NodeId n : nodes_) {
      const auto values = results ? m_.results_of(n) : m_.operands_of(n);
      for (std::size_t i = 0; i < list.size(); ++i) {
        const ValueId v = i < values.size() ? values[i] : kNone;
        list[i].types.push_back(v == kNone ? ElemType::undefined : m_.values[v].type);
        list[i].always &= v != kNone;
        list[i].tensor &= v == kNone || m_.values[v].tensor;
      }
    }
    return list;
  }

  void formals(Signature& s, bool results) {
    const std::vector<Column> list = columns(results);
    for (std::size_t i = 0; i < list.size(); ++i) {
      Formal f;
      f.name = fmt::format("{}{}", results ? "y" : "x", list.size() == 1 ? "" : std::to_string(i + 1));
      f.optional = !list[i].always;
      f.tensor_only = list[i].tensor;
      if (!list[i].tensor) {
        // nothing else to say
      } else if (!list[i].known()) {
        for (unsigned t = 1; t <= kLastElemType; ++t) f.elems.insert(static_cast<ElemType>(t));
      } else if (list[i].varies()) {
        f.type_var = variable(s, list[i], results);
        f.elems = s.type_vars[static_cast<std::size_t>(f.type_var)].elems;
      } else {
        f.elems = list[i].set();
      }
      (results ? s.outputs : s.inputs).push_back(std::move(f));
    }
  }

  /// That of an earlier position with the same types in every node, else one more.
  int variable(Signature& s, const Column& column, bool results) {
    std::size_t i = 0;
    while (i < variables_.size() && !variables_[i].agrees(column)) ++i;
    if (i == variables_.size()) {
      variables_.push_back(column);
      s.type_vars.emplace_back();
    }
    for (std::size_t k = 0; k < column.types.size(); ++k) {
      if (column.types[k] != ElemType::undefined) variables_[i].types[k] = column.types[k];
    }
    s.type_vars[i].elems = variables_[i].set();
    s.type_vars[i].bound_by_input |= !results;
    return static_cast<int>(i);
  }

  void attributes(Signature& s) const {
    for (const NodeId n : nodes_) {
      for (const auto& a : m_.nodes[n].proto->attribute()) {
        if (s.attribute(a.name()) != nullptr) continue;
        AttrFormal f;
        f.name = a.name();
        switch (a.type()) {
          case onnx::AttributeProto::INT:
            f.kind = AttrKind::integer;
            break;
          case onnx::AttributeProto::FLOAT:
            f.kind = AttrKind::floating;
            break;
          case onnx::AttributeProto::STRING:
            f.kind = AttrKind::string;
            break;
          case onnx::AttributeProto::TENSOR:
            f.kind = AttrKind::tensor;
            break;
          case onnx::AttributeProto::GRAPH:
            f.kind = AttrKind::graph;
            break;
          case onnx::AttributeProto::TYPE_PROTO:
            f.kind = AttrKind::type;
            break;
          case onnx::AttributeProto::INTS:
          case onnx::AttributeProto::FLOATS:
          case onnx::AttributeProto::STRINGS:
            f.kind = AttrKind::list;
            break;
          default:
            break;
        }
        s.attributes.push_back(std::move(f));
      }
    }
    std::sort(s.attributes.begin(), s.attributes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  }

  const Model& m_;
  const Op& op_;
  const std::vector<NodeId>& nodes_;  // all of one operator
  std::vector<Column> variables_;     // what each type variable is in each node
};

std::string full_name(const Op& op) {
  return fmt::format("{}::{}", op.domain.empty() ? "ai.onnx" : op.domain, op.name);
}

void report_undeclared(const PassContext& c, const std::vector<NodeId>& nodes) {
  const Model& m = c.model;
  const Op& op = m.op_of(nodes.front());
  const std::size_t count = nodes.size();
  Sketch sketch(m, nodes);
  const Signature s = sketch.run();
  auto& d = c.diagnostics.warning(
      codes::kUndeclared,
      fmt::format("nothing declares {}::{}: {} left in the types {} written for", op.domain, op.name,
                  count == 1 ? "1 node is" : fmt::format("{} nodes are", count), count == 1 ? "it was" : "they were"));
  d.in(m.path);
  if (const ValueId v = sketch.untold(); v != kNone) {
    d.note(
        fmt::format("nothing tells the type of '{}': what is computed from it is left as well; in the declaration, "
                    "'any' stands for what is to be filled in",
                    m.values[v].name));
  }
  d.note("a type variable may list what else the operator has kernels for: fp16, bf16");
  d.fix("declare it: " + lang::print(s));
}

}  // namespace

void report_walls(const PassContext& c) {
  const Model& m = c.model;
  // By name: blocks that import other versions have operators of their own.
  std::map<std::string, std::vector<NodeId>> undeclared, against;
  for (NodeId n = 0; n < m.nodes.size(); ++n) {
    const Decision& d = c.plan.nodes[n];
    if (d.reason == Reason::no_schema) undeclared[full_name(m.op_of(n))].push_back(n);
    if (d.reason == Reason::against_declaration) against[full_name(m.op_of(n))].push_back(n);
    if (d.reason != Reason::unknown_type) continue;
    // What follows from a value of unknown type is unknown too: the first place says it, and a wall says it itself.
    const NodeId made = m.values[d.value].producer;
    if (made != kNone && made != n && c.plan.nodes[made].choice == Choice::leave &&
        (c.plan.nodes[made].reason == Reason::no_schema || c.plan.nodes[made].reason == Reason::unknown_type)) {
      continue;
    }
    c.diagnostics
        .warning(codes::kUnknownType,
                 fmt::format("nothing tells the type of '{}', so the node is left as it is", m.values[d.value].name))
        .in(m.where(n))
        .fix("give the value a value_info entry");
  }
  for (const auto& [name, nodes] : undeclared) report_undeclared(c, nodes);
  for (const auto& [name, nodes] : against) {
    const bool one = nodes.size() == 1;
    c.diagnostics
        .warning(codes::kAgainstDeclaration, fmt::format("{} of {} {} not what is declared of it, and left as {}",
                                                         one ? "1 node" : fmt::format("{} nodes", nodes.size()), name,
                                                         one ? "is" : "are", one ? "it is" : "they are"))
        .at(m.op_of(nodes.front()).signature->declared, "declared here")
        .note(fmt::format("{}: {}", m.describe(nodes.front()), contradiction(m, nodes.front())));
  }
}

}  // namespace ampc::passes
