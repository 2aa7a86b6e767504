// Types forward through the graph.
#include <optional>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/declared.h"
#include "ampc/model/model.h"
#include "ampc/model/node_inference.h"
#include "ampc/model/special_ops.h"

namespace ampc {
namespace {

class Inference {
 public:
  Inference(Model& m, Diagnostics& diagnostics) : m_(m), diagnostics_(diagnostics) {}

  void block(BlockId b) {
    for (NodeId n = m_.blocks[b].first; n < m_.blocks[b].last; ++n) node(n);
  }

 private:
  void node(NodeId n) {
    const auto bodies = m_.bodies_of(n);
    const Op& op = m_.op_of(n);
    // What operands and results have to do with a body is known of calls and of ONNX's own control flow alone.
    const bool known = op.is_call || (op.signature != nullptr && !op.signature->is_declared());
    for (const BlockId body : bodies) {
      if (known) enter_body(n, body);
      block(body);
    }
    if (known && !bodies.empty()) {
      leave_bodies(n, bodies);
      return;
    }
    // A typed wall: value_info tells, or nothing does.
    if (op.signature == nullptr || !contradiction(m_, n).empty()) return;
    check(n, *op.signature);
    bind(n, *op.signature);
    results(n, *op.signature);
  }

  /// What a schema asks of any node.
  void check(NodeId n, const Signature& s) {
    const auto operands = m_.operands_of(n);
    const auto op = [&] { return fmt::format("{}-{}", s.name, s.since_version); };
    if (!operands.empty() && s.input(operands.size() - 1) == nullptr) {
      diagnostics_
          .error(codes::kBadNode,
                 fmt::format("{} takes {} operands at most, the node has {}", op(), s.inputs.size(), operands.size()))
          .in(m_.where(n));
    }
    for (const AttrFormal& a : s.attributes) {
      if (a.required && m_.attribute(n, a.name) == nullptr) {
        diagnostics_.error(codes::kBadNode, fmt::format("{} needs the attribute '{}'", op(), a.name)).in(m_.where(n));
      }
    }
  }

  /// Types of a body's formal inputs that the body does not declare: those of the node's operands.
  void enter_body(NodeId n, BlockId body) {
    const auto operands = m_.operands_of(n);
    for (std::size_t i = 0; i < m_.blocks[body].inputs.size() && i < operands.size(); ++i) {
      Value& formal = m_.values[m_.blocks[body].inputs[i]];
      if (formal.type != ElemType::undefined || !formal.tensor || operands[i] == kNone) continue;
      const Value& actual = m_.values[operands[i]];
      formal.type = actual.type;
      formal.tensor = actual.tensor;
    }
  }

  void leave_bodies(NodeId n, std::span<const BlockId> bodies) {
    const auto results = m_.results_of(n);
    const std::uint32_t skip = special::leading_body_outputs(m_.op_of(n).domain, m_.op_of(n).name);
    for (const BlockId body : bodies) {
      const auto& outputs = m_.blocks[body].outputs;
      for (std::size_t i = 0; i < results.size() && i + skip < outputs.size(); ++i) {
        if (results[i] == kNone) continue;
        Value& r = m_.values[results[i]];
        const Value& o = m_.values[outputs[i + skip]];
        if (r.tensor && r.type == ElemType::undefined) {
          // SequenceMap's results are sequences of what its body makes; its schema says that no tensor stands there.
          const Signature* s = m_.op_of(n).signature;
          const Formal* f = s == nullptr ? nullptr : s->output(i);
          r.tensor = o.tensor && (f == nullptr || !f->elems.empty());
          if (r.tensor) r.type = o.type;
        }
      }
    }
  }

  /// Binds type variables to the operands' types; a variable bound to two is the model's fault. An operand of unknown
  /// type gets the one that its variable is bound to elsewhere.
  void bind(NodeId n, const Signature& s) {
    bound_.assign(s.type_vars.size(), kNone);
    const auto operands = m_.operands_of(n);
    bool open = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Formal* f = s.input(i);
      if (f == nullptr || operands[i] == kNone || f->type_var == kNoTypeVar || (f->variadic && !f->homogeneous))
        continue;
      const Value& v = m_.values[operands[i]];
      if (!v.tensor) continue;
      if (v.type == ElemType::undefined) {
        open = true;
        continue;
      }
      auto& slot = bound_[static_cast<std::size_t>(f->type_var)];
      if (slot == kNone) {
        slot = operands[i];
      } else if (m_.values[slot].type != v.type) {
        const TypeVar& var = s.type_vars[static_cast<std::size_t>(f->type_var)];
        diagnostics_
            .error(codes::kTypeClash, fmt::format("'{}' is {} and '{}' is {}, where {}-{} wants one type ({})",
                                                  m_.values[slot].name, short_name(m_.values[slot].type), v.name,
                                                  short_name(v.type), s.name, s.since_version, var.name))
            .in(m_.where(n))
            .fix("the model is not valid as it stands; onnx.checker with full_check shows the same");
      }
    }
    if (!open) return;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Formal* f = s.input(i);
      if (f == nullptr || operands[i] == kNone || f->type_var == kNoTypeVar || (f->variadic && !f->homogeneous))
        continue;
      Value& v = m_.values[operands[i]];
      const ValueId slot = bound_[static_cast<std::size_t>(f->type_var)];
      if (v.tensor && v.type == ElemType::undefined && slot != kNone) v.type = m_.values[slot].type;
    }
  }

  void results(NodeId n, const Signature& s) {
    const auto results = m_.results_of(n);
    bool ask_onnx = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNone) continue;
      const Formal* f = s.output(i);
      if (s.is_declared() && f != nullptr && f->elems.empty()) m_.values[results[i]].tensor = false;
      const auto known = f == nullptr ? std::nullopt : from_variables(s, *f);
      if (known) {
        set(n, results[i], *known);
      } else if (m_.values[results[i]].type == ElemType::undefined && m_.values[results[i]].tensor) {
        ask_onnx = true;
      }
    }
    if (!ask_onnx) return;
    const auto types = infer_node(m_, n, *m_.nodes[n].proto, [this](ValueId v) { return m_.values[v].type; });
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNone) continue;
      Value& v = m_.values[results[i]];
      if (v.type != ElemType::undefined || !v.tensor) continue;
      v.tensor = types[i].tensor;
      v.type = types[i].type;
      if (v.rank < 0) v.rank = types[i].rank;
      if (!v.tensor && v.declared == nullptr) v.declared = types[i].full;
    }
  }

  /// The result's element type where the schema's variables alone give it.
  std::optional<ElemType> from_variables(const Signature& s, const Formal& f) const {
    if (f.type_var == kNoTypeVar || f.tensor_only) {
      if (const auto one = only(f.elems); one || f.type_var == kNoTypeVar) return one;
    }
    const auto var = static_cast<std::size_t>(f.type_var);
    if (s.is_declared() && !s.type_vars[var].bound_by_input) return only(f.elems);
    if (!s.type_vars[var].bound_by_input || (f.variadic && !f.homogeneous)) return std::nullopt;
    if (bound_[var] != kNone) return m_.values[bound_[var]].type;
    return std::nullopt;
  }

  static std::optional<ElemType> only(const ElemTypeSet& set) {
    std::optional<ElemType> found;
    for (int t = 1; t <= kLastElemType; ++t) {
      if (!set.contains(static_cast<ElemType>(t))) continue;
      if (found) return std::nullopt;
      found = static_cast<ElemType>(t);
    }
    return found;
  }

  void set(NodeId n, ValueId id, ElemType type) {
    Value& v = m_.values[id];
    if (!v.tensor || type == ElemType::undefined) return;
    if (v.type != ElemType::undefined && v.type != type) {
      diagnostics_
          .error(codes::kTypeClash,
                 fmt::format("'{}' is declared as {} but made as {}", v.name, short_name(v.type), short_name(type)))
          .in(m_.where(n))
          .fix("the model is not valid as it stands; onnx.checker with full_check shows the same");
    }
    v.type = type;
  }

  Model& m_;
  Diagnostics& diagnostics_;
  std::vector<ValueId> bound_;
};

}  // namespace

void infer_types(Model& model, Diagnostics& diagnostics) { Inference(model, diagnostics).block(0); }

}  // namespace ampc
