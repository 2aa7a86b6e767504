#include "ampc/emit/collapse.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/emit/graph_names.h"
#include "ampc/emit/inline_calls.h"
#include "ampc/model/functions.h"

namespace ampc::emit {
namespace {

/// A function made of a body, and what the call gives it.
struct Outlined {
  onnx::FunctionProto function;
  std::vector<std::string> operands;
};

class Collapser {
 public:
  Collapser(Model& m, const Plan& plan) : m_(m), plan_(plan) {
    for (const CastNode& c : plan.casts) {
      if (c.reused == kNone) value_of_.emplace(c.name, c.value);
    }
    for (const CastNode& c : plan.casts) {
      if (c.takes_name) value_of_.emplace(plan.name_of(m, c.value), c.value);
    }
    for (const auto& f : m.proto->functions()) taken_.insert(id(f));
  }

  void run() {
    // Callees first: the name of what a body calls is part of the body.
    std::map<std::uint32_t, std::map<const onnx::FunctionProto*, std::vector<BlockId>>> by_height;
    std::vector<std::uint32_t> height(m_.blocks.size(), 0);
    for (BlockId b = static_cast<BlockId>(m_.blocks.size()); b-- > 0;) {
      const Block& block = m_.blocks[b];
      const std::uint32_t own = block.call == kNone ? height[b] : height[b] + 1;
      if (block.parent != kNone) height[block.parent] = std::max(height[block.parent], own);
      if (block.call == kNone) continue;
      called_.insert(m_.calls[block.call].function);
      if (functions::body_attribute(*m_.nodes[block.owner].proto) != nullptr)
        blocks_[m_.calls[block.call].function].push_back(b);
    }
    for (auto& [function, blocks] : blocks_) {
      std::reverse(blocks.begin(), blocks.end());
      std::uint32_t highest = 0;
      for (const BlockId b : blocks) highest = std::max(highest, height[b]);
      by_height[highest].emplace(function, blocks);
    }
    // By the function's place in the file, not by its address.
    for (auto& [h, functions] : by_height) {
      for (const auto& f : m_.proto->functions()) {
        if (const auto calls = functions.find(&f); calls != functions.end()) settle(f, calls->second);
      }
    }
    write_functions();
  }

 private:
  static std::string id(const onnx::FunctionProto& f) {
    return fmt::format("{}\n{}\n{}", f.domain(), f.name(), f.overload());
  }

  /// The value whose own name, or whose cast's, `name` is.
  ValueId value_of(BlockId block, const std::string& name) const {
    const auto cast = value_of_.find(name);
    return cast != value_of_.end() ? cast->second : m_.find(block, name);
  }

  /// Past casts of the model's own that nothing reads any more.
  ValueId read_instead_of(ValueId v) const {
    while (v != kNone && m_.values[v].producer != kNone && plan_.removed[m_.values[v].producer] != 0)
      v = plan_.operand_values[m_.nodes[m_.values[v].producer].operand_begin];
    return v;
  }

  Outlined outline(BlockId b, const onnx::GraphProto& body) const {
    const FunctionCall& call = m_.calls[m_.blocks[b].call];
    const onnx::FunctionProto& f = *call.function;
    GraphNames names;
    names.gather(body);
    Outlined out;
    std::unordered_map<std::string, std::string> renamed;
    std::unordered_set<std::string> used;
    for (const std::string& made : names.made()) {
      std::string name = made.starts_with(call.prefix) ? made.substr(call.prefix.size()) : made;
      renamed.emplace(made, unique(std::move(name), used));
    }
    // A formal stands for its operand, or for the cast of it that the body reads instead.
    std::vector<std::string> left = names.read();
    const BlockId outside = m_.blocks[b].parent;
    std::unordered_map<ValueId, std::string> formal_of, operand_of;
    for (int i = 0; i < f.input_size(); ++i) {
      const std::string actual = i < call.original->input_size() ? call.original->input(i) : std::string();
      const ValueId v = actual.empty() ? kNone : read_instead_of(m_.find(outside, actual));
      if (v != kNone) formal_of.emplace(v, f.input(i));
      const std::string own = v == kNone ? actual : std::string(plan_.name_of(m_, v));
      auto read = std::find(left.begin(), left.end(), own);
      if (read == left.end() && v != kNone)
        read = std::find_if(left.begin(), left.end(), [&](const std::string& n) { return value_of(outside, n) == v; });
      // The second of two formals for one operand is read as the first; the original must find both alike.
      std::string operand = operand_of.contains(v) ? operand_of[v] : own;
      const std::string formal = unique(f.input(i), used);
      if (read != left.end()) {
        operand = *read;
        renamed.emplace(operand, formal);
        left.erase(read);
      }
      if (v != kNone) operand_of.emplace(v, operand);
      out.function.add_input(formal);
      out.operands.push_back(std::move(operand));
    }
    for (const std::string& name : left) {
      const ValueId v = value_of(outside, name);
      std::string formal = name;
      if (const auto known = formal_of.find(v); known != formal_of.end())
        formal = fmt::format("{}.cast_{}", known->second, short_name(type_of(name, v)));
      formal = unique(std::move(formal), used);
      renamed.emplace(name, formal);
      out.function.add_input(formal);
      out.operands.push_back(name);
    }
    // Optional operands that the call leaves out at the end stay out.
    while (!out.operands.empty() && out.operands.back().empty()) out.operands.pop_back();
    onnx::GraphProto own = body;
    GraphNames::rename(own, renamed, call.prefix);
    out.function.set_domain(f.domain());
    out.function.set_overload(f.overload());
    if (f.has_doc_string()) out.function.set_doc_string(f.doc_string());
    *out.function.mutable_opset_import() = f.opset_import();
    *out.function.mutable_metadata_props() = f.metadata_props();
    *out.function.mutable_node() = own.node();
    import_default_domain(out.function, f);
    *out.function.mutable_value_info() = own.value_info();
    for (const auto& o : own.output()) out.function.add_output(o.name());
    for (int i = own.output_size(); i < f.output_size(); ++i) out.function.add_output(f.output(i));
    return out;
  }

  ElemType type_of(const std::string& name, ValueId v) const {
    for (const CastNode& c : plan_.casts) {
      if (c.value == v && c.name == name) return c.to;
    }
    return plan_.home[v];
  }

  static bool is_default(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

  /// Whether an operator of the default domain, here or further within, is another one in the other opset.
  template <typename Nodes>
  static bool differs(const Nodes& nodes, int one, int other) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& n) {
      if (is_default(n.domain()) &&
          Schemas::get().find("", n.op_type(), one) != Schemas::get().find("", n.op_type(), other))
        return true;
      return std::any_of(n.attribute().begin(), n.attribute().end(), [&](const onnx::AttributeProto& a) {
        return (a.has_g() && differs(a.g().node(), one, other)) ||
               std::any_of(a.graphs().begin(), a.graphs().end(),
                           [&](const onnx::GraphProto& g) { return differs(g.node(), one, other); });
      });
    });
  }

  /// R18: a function of foreign domains alone imports the default one with its first cast. One whose opset has another
  /// Cast than the model's goes over to the model's: an operator that is there twice makes a model invalid. Its own
  /// operators are the same in both, or the model was invalid before.
  void import_default_domain(onnx::FunctionProto& made, const onnx::FunctionProto& original) const {
    const auto imports = [&](auto& list) {
      return std::find_if(list.begin(), list.end(), [&](const auto& i) { return is_default(i.domain()); });
    };
    const auto ours = imports(m_.proto->opset_import());
    if (ours == m_.proto->opset_import().end()) return;
    const auto own = imports(*made.mutable_opset_import());
    if (own == made.mutable_opset_import()->end()) {
      if (differs(made.node(), 0, static_cast<int>(ours->version()))) *made.add_opset_import() = *ours;
      return;
    }
    const auto theirs = static_cast<int>(own->version()), model = static_cast<int>(ours->version());
    if (theirs != model && differs(made.node(), theirs, model) && !differs(original.node(), theirs, model))
      own->set_version(ours->version());
  }

  static std::string unique(std::string name, std::unordered_set<std::string>& used) {
    std::string text = name;
    for (int i = 1; !used.insert(text).second; ++i) text = fmt::format("{}_{}", name, i);
    return text;
  }

  void settle(const onnx::FunctionProto& f, const std::vector<BlockId>& blocks) {
    std::vector<std::pair<std::string, onnx::FunctionProto>> made;  // by text
    std::vector<std::pair<BlockId, std::size_t>> calls;
    bool original = false;
    for (const BlockId b : blocks) {
      onnx::NodeProto& node = *m_.nodes[m_.blocks[b].owner].proto;
      const FunctionCall& call = m_.calls[m_.blocks[b].call];
      Outlined now = outline(b, functions::body_attribute(node)->g());
      const Outlined before = outline(b, functions::body_of(call));
      const bool same = text(now.function) == text(before.function);
      set_operands(node, now.operands);
      node.clear_attribute();
      if (same) {
        *node.mutable_attribute() = call.original->attribute();
        original = true;
        continue;
      }
      std::string body = text(now.function);
      auto at = std::find_if(made.begin(), made.end(), [&](const auto& x) { return x.first == body; });
      if (at == made.end()) at = made.emplace(made.end(), std::move(body), std::move(now.function));
      calls.emplace_back(b, static_cast<std::size_t>(at - made.begin()));
    }
    if (original) kept_.insert(&f);
    for (std::size_t i = 0; i < made.size(); ++i) {
      onnx::FunctionProto& function = made[i].second;
      function.set_name(f.name());
      if (original || made.size() > 1) {
        const std::string base = fmt::format("{}_{}", f.name(), short_name(plan_.low));
        function.set_name(base);
        for (int n = 2; taken_.contains(id(function)); ++n) function.set_name(fmt::format("{}_{}", base, n));
      }
      taken_.insert(id(function));
    }
    for (const auto& [b, i] : calls) m_.nodes[m_.blocks[b].owner].proto->set_op_type(made[i].second.name());
    for (auto& [body, function] : made) made_[&f].push_back(std::move(function));
  }

  static void set_operands(onnx::NodeProto& node, const std::vector<std::string>& operands) {
    node.clear_input();
    for (const auto& o : operands) node.add_input(o);
  }

  static std::string text(const onnx::FunctionProto& f) { return f.SerializeAsString(); }

  /// A function that is called no more goes; one that never was stays.
  void write_functions() {
    std::vector<onnx::FunctionProto> all;
    for (const auto& f : m_.proto->functions()) {
      if (kept_.contains(&f) || !called_.contains(&f)) all.push_back(f);
      if (const auto made = made_.find(&f); made != made_.end()) {
        for (auto& function : made->second) all.push_back(std::move(function));
      }
    }
    m_.proto->clear_functions();
    for (auto& f : all) *m_.proto->add_functions() = std::move(f);
  }

  Model& m_;
  const Plan& plan_;
  std::unordered_map<std::string, ValueId> value_of_;                            // of the names that casts make
  std::unordered_map<const onnx::FunctionProto*, std::vector<BlockId>> blocks_;  // of calls that stay calls
  std::unordered_set<const onnx::FunctionProto*> called_;
  std::unordered_set<const onnx::FunctionProto*> kept_;
  std::unordered_map<const onnx::FunctionProto*, std::vector<onnx::FunctionProto>> made_;
  std::set<std::string> taken_;
};

}  // namespace

void collapse_calls(Model& m, const Plan& plan, bool inline_them, Diagnostics& diagnostics) {
  if (m.calls.empty()) return;
  if (inline_them) inline_calls(m, diagnostics);
  Collapser(m, plan).run();
}

}  // namespace ampc::emit
