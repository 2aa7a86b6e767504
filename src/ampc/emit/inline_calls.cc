#include "ampc/emit/inline_calls.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/emit/graph_names.h"
#include "ampc/model/domain.h"
#include "ampc/model/functions.h"
#include "ampc/model/special_ops.h"
#include "ampc/model/storage.h"

namespace ampc::emit {
namespace {

class Inliner {
 public:
  Inliner(Model& m, Diagnostics& diagnostics) : m_(m), diagnostics_(diagnostics) {}

  void graph(onnx::GraphProto& g) {
    auto* list = g.mutable_node();
    std::vector<onnx::NodeProto*> old(static_cast<std::size_t>(list->size()));
    list->UnsafeArenaExtractSubrange(0, list->size(), old.data());
    for (onnx::NodeProto* n : old) {
      for (auto& a : *n->mutable_attribute()) {
        if (a.has_g()) graph(*a.mutable_g());
        for (auto& body : *a.mutable_graphs()) graph(body);
      }
      onnx::AttributeProto* body = functions::body_attribute(*n);
      if (body == nullptr || holds_calls(body->g()) || !fits(*m_.calls[static_cast<std::size_t>(body->i())].function)) {
        list->UnsafeArenaAddAllocated(n);
        continue;
      }
      splice(g, *n, *body->mutable_g());
      n->clear_attribute();
    }
  }

 private:
  /// A body with calls that had to stay is not taken apart either.
  static bool holds_calls(const onnx::GraphProto& g) {
    return std::any_of(g.node().begin(), g.node().end(), [](const onnx::NodeProto& n) {
      if (functions::body_attribute(n) != nullptr) return true;
      return std::any_of(n.attribute().begin(), n.attribute().end(), [](const auto& a) {
        return (a.has_g() && holds_calls(a.g())) ||
               std::any_of(a.graphs().begin(), a.graphs().end(), [](const auto& body) { return holds_calls(body); });
      });
    });
  }

  /// Whether the model's imports do for the function's nodes; those of domains that the model does not know join them.
  bool fits(const onnx::FunctionProto& f) {
    std::vector<onnx::OperatorSetIdProto> more;
    for (const auto& wanted : f.opset_import()) {
      const auto& known = m_.proto->opset_import();
      const auto at = std::find_if(known.begin(), known.end(),
                                   [&](const auto& i) { return canonical(i.domain()) == canonical(wanted.domain()); });
      if (at == known.end()) {
        more.push_back(wanted);
      } else if (at->version() != wanted.version()) {
        if (told_.insert(&f).second) {
          diagnostics_
              .warning(codes::kLoneFunction,
                       fmt::format("function '{}' is not inlined: it imports opset {} of {}, the model {}", f.name(),
                                   wanted.version(), canonical(wanted.domain()).empty() ? "ai.onnx" : wanted.domain(),
                                   at->version()))
              .in(m_.path);
        }
        return false;
      }
    }
    for (const auto& i : more) *m_.proto->add_opset_import() = i;
    return true;
  }

  void splice(onnx::GraphProto& g, const onnx::NodeProto& call, onnx::GraphProto& body) {
    GraphNames names;
    names.gather(body);
    const std::unordered_set<std::string> made(names.made().begin(), names.made().end());
    std::unordered_map<std::string, std::string> renamed;
    std::vector<std::pair<std::string, std::string>> copies;
    for (int i = 0; i < call.output_size(); ++i) {
      const std::string& from = body.output(i).name();
      const std::string& to = call.output(i);
      if (to.empty()) continue;
      // An operand that is given out as it came, or a value that is given out twice, needs a node.
      if (!made.contains(from) || !renamed.emplace(from, to).second) copies.emplace_back(from, to);
    }
    GraphNames::rename(body, renamed, {});
    auto* nodes = body.mutable_node();
    std::vector<onnx::NodeProto*> moved(static_cast<std::size_t>(nodes->size()));
    nodes->UnsafeArenaExtractSubrange(0, nodes->size(), moved.data());
    for (onnx::NodeProto* n : moved) g.mutable_node()->UnsafeArenaAddAllocated(n);
    for (auto& [from, to] : copies) {
      auto* n = g.add_node();
      n->set_op_type(std::string(special::kIdentity));
      n->add_input(renamed.contains(from) ? renamed[from] : from);
      n->add_output(to);
    }
    for (const auto& v : body.value_info()) {
      const bool output =
          std::any_of(g.output().begin(), g.output().end(), [&](const auto& o) { return o.name() == v.name(); });
      if (!output) *g.add_value_info() = v;
    }
  }

  Model& m_;
  Diagnostics& diagnostics_;
  std::set<const onnx::FunctionProto*> told_;
};

}  // namespace

void inline_calls(Model& m, Diagnostics& diagnostics) { Inliner(m, diagnostics).graph(*m.proto->mutable_graph()); }

}  // namespace ampc::emit
