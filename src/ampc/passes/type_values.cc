// In which type every value is made or stored: its home. Casts join homes to what readers want.
//
// R10: results. R22: the model's inputs. R20: creators whose readers all want low make low themselves. R24: weights.
#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/node_inference.h"
#include "ampc/model/tensors.h"
#include "ampc/passes/access.h"
#include "ampc/passes/interface.h"
#include "ampc/passes/passes.h"
#include "ampc/passes/weight_chain.h"

namespace ampc::passes {
namespace {

/// What the readers of a value want, all together.
struct Wants {
  ElemType low = ElemType::undefined;  // the low type of those that read it low
  bool two_lows = false;               // fp16 and bf16
  bool original = false;               // someone reads it as the model had it
  bool original_denied = true;         // … and all of those are nodes that a deny rule holds in fp32
};

class Typer {
 public:
  explicit Typer(const PassContext& c) : c_(c), m_(c.model), interface_(c) {}

  void run() {
    c_.plan.any_low = std::any_of(c_.plan.nodes.begin(), c_.plan.nodes.end(),
                                  [](const Decision& d) { return d.choice == Choice::low; });
    c_.plan.home.resize(m_.values.size());
    for (ValueId v = 0; v < m_.values.size(); ++v) c_.plan.home[v] = m_.values[v].type;
    for (const ValueId v : m_.blocks[0].inputs) c_.plan.home[v] = interface_.type_of(v);
    for (NodeId n = 0; n < m_.nodes.size(); ++n) results(n);
    for (BlockId b = 0; b < m_.blocks.size(); ++b) {
      for (std::size_t i = 0; i < m_.blocks[b].outputs.size(); ++i)
        output_types_.emplace(m_.blocks[b].outputs[i], interface_.output_type(b, i));
    }
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (c_.plan.nodes[n].reason == Reason::attribute_type && !c_.plan.nodes[n].no_kernel &&
          c_.rules.settings().rewrite_creators.value_or(true))
        creator(n);
    }
    if (c_.plan.any_low) weights();
    report_unrounded();
  }

 private:
  void results(NodeId n) {
    const Decision& d = c_.plan.nodes[n];
    const auto results = m_.results_of(n);
    for (const ValueId v : m_.bodies_of(n).empty() ? std::span<const ValueId>{} : results) {
      if (v != kNone && c_.plan.low_results[v] != 0) c_.plan.home[v] = c_.rules.options(n).dtype;
    }
    if (d.choice != Choice::low) return;
    const Op& op = m_.op_of(n);
    bool ask_onnx = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNone || m_.values[results[i]].type != ElemType::float32) continue;
      const int var = result_var(op, i);
      if (has_var(d.vars, var)) {
        c_.plan.home[results[i]] = d.low;
      } else if (var != kNoTypeVar && !op.signature->type_vars[static_cast<std::size_t>(var)].bound_by_input) {
        ask_onnx = true;
      }
    }
    if (!ask_onnx) return;
    // LayerNormalization's Mean and its like: onnx's function knows which attribute decides.
    const auto types = infer_node(m_, n, *m_.nodes[n].proto, [&](ValueId v) {
      const auto operands = m_.operands_of(n);
      const auto slot = static_cast<std::size_t>(std::find(operands.begin(), operands.end(), v) - operands.begin());
      return operand_access(m_, c_.plan, n, slot).type;
    });
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] != kNone && m_.values[results[i]].type == ElemType::float32 && is_low(types[i].type)) {
        c_.plan.home[results[i]] = types[i].type;
      }
    }
  }

  Wants wants_of(ValueId v) const {
    Wants w;
    const auto want_low = [&](ElemType t) {
      if (w.low != ElemType::undefined && w.low != t) w.two_lows = true;
      w.low = t;
    };
    for (const Reader& r : c_.readers.of(v)) {
      const Access a = operand_access(m_, c_.plan, r.node, r.slot);
      if (a.any && !m_.op_of(r.node).is_cast) continue;
      if (!a.any && is_low(a.type) && m_.values[v].type == ElemType::float32) {
        want_low(a.type);
        continue;
      }
      w.original = true;
      const Decision& d = c_.plan.nodes[r.node];
      w.original_denied &= d.reason == Reason::deny && operand_lowers(m_, d, r.node, r.slot);
    }
    const auto [first, last] = output_types_.equal_range(v);
    for (auto at = first; at != last; ++at) {
      if (is_low(at->second) && m_.values[v].type == ElemType::float32) {
        want_low(at->second);
      } else {
        w.original = true;
        w.original_denied = false;
      }
    }
    return w;
  }

  /// R20
  void creator(NodeId n) {
    const auto results = m_.results_of(n);
    if (results.size() != 1 || results[0] == kNone) return;
    const Wants w = wants_of(results[0]);
    if (w.low == ElemType::undefined || w.two_lows || w.original) return;
    const Formal* formal = m_.op_of(n).signature->output(0);
    if (!formal->elems.contains(w.low)) return;
    const auto target = retarget(n, w.low);
    if (!target) return;
    c_.plan.retargets.push_back(*target);
    c_.plan.home[results[0]] = w.low;
    c_.plan.nodes[n].reason = Reason::creator_low;
  }

  /// The attribute that decides the result's type: the one whose change to the low type changes what onnx infers.
  std::optional<Retarget> retarget(NodeId n, ElemType low) const {
    const auto makes_low = [&](const onnx::NodeProto& proto) {
      return infer_node(m_, n, proto, [&](ValueId v) { return m_.values[v].type; })[0].type == low;
    };
    const onnx::NodeProto& original = *m_.nodes[n].proto;
    for (const AttrFormal& a : m_.op_of(n).signature->attributes) {
      if (a.kind != AttrKind::integer && a.kind != AttrKind::tensor) continue;
      onnx::NodeProto changed = original;
      if (!set_element_type(changed, a.name, a.kind == AttrKind::tensor, low)) continue;
      if (makes_low(changed)) return Retarget{n, low, a.name, a.kind == AttrKind::tensor};
    }
    return std::nullopt;
  }

  /// A tensor attribute is changed only where the low type holds its value.
  bool set_element_type(onnx::NodeProto& proto, const std::string& name, bool tensor, ElemType low) const {
    onnx::AttributeProto* a = nullptr;
    for (auto& x : *proto.mutable_attribute()) {
      if (x.name() == name) a = &x;
    }
    if (!tensor) {
      if (a == nullptr) {
        a = proto.add_attribute();
        a->set_name(name);
        a->set_type(onnx::AttributeProto::INT);
      } else if (a->i() != static_cast<int>(ElemType::float32)) {
        return false;
      }
      a->set_i(static_cast<int>(low));
      return true;
    }
    if (a != nullptr && !fits(a->t(), low)) return false;
    if (a == nullptr) {
      a = proto.add_attribute();
      a->set_name(name);
      a->set_type(onnx::AttributeProto::TENSOR);
      a->mutable_t()->add_dims(1);
    }
    a->mutable_t()->set_data_type(static_cast<int>(low));
    return true;
  }

  bool fits(const onnx::TensorProto& t, ElemType low) const {
    if (t.data_type() != onnx::TensorProto::FLOAT) return false;
    const wire::Bytes bytes = tensors::bytes_of(m_, t);
    const auto s = weights::measure_parallel(weights::cpu_caster(), {ElemType::float32, low, false}, bytes.data(),
                                             bytes.size() / sizeof(float));
    return s.overflow == 0 && s.underflow == 0 && s.subnormal == 0;
  }

  /// R24
  void weights() {
    std::vector<std::uint32_t> planned(m_.values.size(), kNone);
    for (std::uint32_t i = 0; i < c_.plan.weights.size(); ++i) planned[c_.plan.weights[i].value] = i;
    const auto policy = c_.rules.rules().levels[c_.rules.model_options().level].weights;
    for (ValueId v = 0; v < m_.values.size(); ++v) {
      const Value& value = m_.values[v];
      if (value.weight == nullptr || value.type != ElemType::float32) continue;
      const Wants w = wants_of(v);
      const bool wanted = w.low != ElemType::undefined || (value.graph_input && is_low(interface_.type_of(v)));
      if (!wanted && (policy != lang::Level::Weights::low || c_.readers.of(v).empty() || !w.original_denied)) continue;
      if (planned[v] == kNone) {
        planned[v] = static_cast<std::uint32_t>(c_.plan.weights.size());
        c_.plan.weights.emplace_back();
        c_.plan.weights.back().value = v;
      }
      WeightPlan& p = c_.plan.weights[planned[v]];
      p.low = w.low != ElemType::undefined && !value.graph_input ? w.low : c_.plan.low;
      p.storage = storage(v, w, policy);
      if (p.storage == Storage::low) c_.plan.home[v] = p.low;
    }
    std::erase_if(c_.plan.weights,
                  [](const WeightPlan& p) { return p.storage == Storage::as_is && p.stats.underflow == 0; });
  }

  /// `master rounded` in a model that stores no parameter that is read low.
  void report_unrounded() const {
    const auto& weights = c_.plan.weights;
    if (c_.rules.settings().master != lang::Master::rounded ||
        std::any_of(weights.begin(), weights.end(), [](const WeightPlan& p) { return p.storage == Storage::rounded; }))
      return;
    c_.diagnostics
        .warning(codes::kNoEffect,
                 "`master rounded` has no effect: the model stores no parameter of an optimizer that "
                 "is read in the low type")
        .in(m_.path);
  }

  Storage storage(ValueId v, const Wants& w, lang::Level::Weights policy) const {
    if (c_.plan.training.is_held(v)) {  // R27
      const bool round = c_.plan.training.parameter(v) && c_.rules.settings().master == lang::Master::rounded &&
                         w.low != ElemType::undefined;
      return round && !w.two_lows && c_.plan.kept[v] == 0 ? Storage::rounded : Storage::as_is;
    }
    if (m_.values[v].graph_input) {  // its type is the input's
      return is_low(interface_.type_of(v)) ? Storage::low : Storage::as_is;
    }
    // A weight that its block gives out is of the type in which it is given out.
    if (const auto [first, last] = output_types_.equal_range(v); first != last) {
      for (auto at = first; at != last; ++at) {
        if (!is_low(at->second)) return Storage::as_is;
      }
      return Storage::low;
    }
    if (c_.plan.kept[v] != 0 || w.two_lows || policy == lang::Level::Weights::keep || stored_fp32(c_, v))
      return Storage::as_is;
    if (!w.original) return Storage::low;
    // onnx's inference has a cast of a sparse tensor make a sparse one.
    if (m_.values[v].sparse != nullptr) return Storage::as_is;
    if (policy == lang::Level::Weights::low && w.original_denied) return Storage::low;
    if (w.low == ElemType::undefined) return Storage::as_is;
    switch (c_.rules.settings().shared.value_or(lang::Shared::fp32)) {
      case lang::Shared::fp32:
        return Storage::as_is;
      case lang::Shared::low:
        return Storage::low;
      case lang::Shared::both:
        return m_.values[v].kind == ValueKind::initializer && m_.values[v].sparse == nullptr ? Storage::both
                                                                                             : Storage::as_is;
    }
    return Storage::as_is;
  }

  const PassContext& c_;
  const Model& m_;
  Interface interface_;
  std::multimap<ValueId, ElemType> output_types_;  // of values that some block gives out
};

/// A role that is on `v` itself, or on what is computed from it alone (R8).
bool role_stores(const PassContext& c, ValueId v, int steps) {
  const Model& m = c.model;
  const bool store_conflicts = c.rules.settings().on_conflict == lang::OnConflict::store;
  for (const Reader& r : c.readers.of(v)) {
    const Options& o = c.rules.options(r.node);
    for (const auto& role : c.rules.operand_roles(m.nodes[r.node].op)) {
      const bool stores = role.rule->action == lang::RoleAction::store_fp32 ||
                          (store_conflicts && role.rule->action == lang::RoleAction::keep_fp32);
      if (stores && role.has(r.slot) && role.rule->when.holds(o.level, o.dtype) &&
          c.rules.scope_depth(role.rule->scope, r.node) >= 0) {
        return true;
      }
    }
    if (steps < 32 && passed_on(m, r.node) == v && role_stores(c, m.results_of(r.node)[0], steps + 1)) return true;
  }
  return false;
}

}  // namespace

bool stored_fp32(const PassContext& c, ValueId v) {
  const auto& tensors = c.rules.rules().tensors;
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const auto& r) {
                       return r.action == lang::TensorAction::store_fp32 && r.pattern.matches(c.model.values[v].name);
                     }) ||
         role_stores(c, v, 0);
}

void type_values(const PassContext& c) { Typer(c).run(); }

}  // namespace ampc::passes
