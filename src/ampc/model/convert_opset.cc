// The converter goes through a representation of its own, which forgets what it has no place for: that is given back
// afterwards, to nodes by what they make.
#include "ampc/model/convert_opset.h"

#include <exception>
#include <functional>
#include <string>
#include <unordered_map>

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include "onnx/onnx_pb.h"
#include "onnx/version_converter/convert.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/default_domain.h"
#include "ampc/model/onnx_registry.h"
#include "ampc/model/schemas.h"
#include "ampc/model/storage.h"

namespace ampc {
namespace {

/// Names of one block may stand in another as well, so a node is known by where it stands too.
std::string key_of(const onnx::NodeProto& n, const std::string& place) {
  return fmt::format("{}{}\n{}\n", place, n.output().empty() ? "" : n.output(0), n.op_type());
}

/// Calls `visit` with each node of the graph and of what is nested in it, and the node's key.
void each_node(onnx::GraphProto& graph, const std::string& place,
               const std::function<void(onnx::NodeProto&, const std::string&)>& visit) {
  for (onnx::NodeProto& n : *graph.mutable_node()) {
    const std::string key = key_of(n, place);
    visit(n, key);
    for (onnx::AttributeProto& a : *n.mutable_attribute()) {
      if (a.has_g()) each_node(*a.mutable_g(), key + a.name() + '\n', visit);
      for (onnx::GraphProto& g : *a.mutable_graphs()) each_node(g, key + a.name() + '\n', visit);
    }
  }
}

void give_back(onnx::ModelProto& from, onnx::ModelProto& to) {
  onnx::GraphProto& old = *from.mutable_graph();
  onnx::GraphProto& graph = *to.mutable_graph();
  if (old.has_doc_string()) graph.set_doc_string(old.doc_string());
  *graph.mutable_metadata_props() = old.metadata_props();
  *graph.mutable_input() = old.input();
  *graph.mutable_output() = old.output();
  *graph.mutable_value_info() = old.value_info();
  *graph.mutable_quantization_annotation() = old.quantization_annotation();
  *to.mutable_training_info() = from.training_info();
  *to.mutable_configuration() = from.configuration();
  std::unordered_map<std::string, const onnx::NodeProto*> nodes;
  each_node(old, {}, [&](onnx::NodeProto& n, const std::string& key) { nodes.emplace(key, &n); });
  each_node(graph, {}, [&](onnx::NodeProto& n, const std::string& key) {
    const auto found = nodes.find(key);
    if (found == nodes.end()) return;
    if (found->second->has_doc_string()) n.set_doc_string(found->second->doc_string());
    *n.mutable_metadata_props() = found->second->metadata_props();
    *n.mutable_device_configurations() = found->second->device_configurations();
  });
}

/// What onnx says without the place in its own sources.
std::string plain(std::string text) {
  if (const auto at = text.rfind(" failed: "); at != std::string::npos) text.erase(0, at + 9);
  return text;
}

}  // namespace

bool convert_opset(Model& m, int opset, Diagnostics& diagnostics) {
  const int now = default_opset(m);
  if (opset == now) return true;
  const auto fail = [&](std::string message, std::string fix) {
    diagnostics.error(codes::kOpset, std::move(message)).in(m.path).fix(std::move(fix));
    return false;
  };
  if (opset < now) {
    return fail(fmt::format("the model's opset is {}: --opset {} would lower it", now, opset),
                "leave --opset out, or give a newer one");
  }
  if (const int newest = Schemas::get().newest(""); opset > newest) {
    return fail(fmt::format("there is no opset {}; this compiler knows up to {}", opset, newest),
                fmt::format("--opset {}", newest));
  }
  if (!m.proto->functions().empty()) {
    return fail("onnx's version converter does not convert model-local functions",
                "put them in place first, with onnx.inliner, or compile at the model's own opset");
  }
  auto* converted = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&m.storage->arena);
  try {
    onnx_registry::register_all();
    *converted = onnx::version_conversion::ConvertVersion(*m.proto, opset);
  } catch (const std::exception& e) {
    return fail(fmt::format("onnx's version converter does not bring this model from opset {} to {}: {}", now, opset,
                            plain(e.what())),
                "try an opset between the two, or export the model anew");
  }
  give_back(*m.proto, *converted);
  m.proto = converted;
  m.rewritten = true;
  return true;
}

}  // namespace ampc
