// R27: the nodes of a backward pass take over what was decided for the forward nodes whose gradients they compute.
//
// They name their forward node, as the rules say how. What stands above the lists (named rules, guards, schemas) holds
// for them as for any node; the lists do not: a gradient is computed as its function is.
#include <unordered_map>

#include "onnx/onnx_pb.h"

#include "ampc/passes/access.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

/// A forward node by name; a name that two nodes have tells nothing.
std::unordered_map<std::string_view, NodeId> nodes_by_name(const Model& m) {
  std::unordered_map<std::string_view, NodeId> names;
  names.reserve(m.nodes.size());
  for (NodeId n = 0; n < m.nodes.size(); ++n) {
    const std::string& name = m.nodes[n].proto->name();
    if (name.empty()) continue;
    const auto [it, fresh] = names.emplace(name, n);
    if (!fresh) it->second = kNone;
  }
  return names;
}

bool by_list(const Decision& d) {
  return d.choice == Choice::open || d.reason == Reason::deny || d.reason == Reason::allow ||
         d.reason == Reason::level_default;
}

}  // namespace

void follow_forward(const PassContext& c) {
  const Model& m = c.model;
  const auto& rules = c.rules.rules().backward;
  std::unordered_map<std::string_view, NodeId> names;
  for (NodeId n = 0; n < m.nodes.size(); ++n) {
    Decision& d = c.plan.nodes[n];
    if (rules.empty() || !by_list(d) || c.rules.collective(m.nodes[n].op) != nullptr) continue;
    const onnx::NodeProto& proto = *m.nodes[n].proto;
    for (const auto& r : rules) {
      if (!r.doc.empty() && proto.doc_string() != r.doc) continue;
      const auto forward = r.pattern.group(proto.name());
      if (!forward) continue;
      if (names.empty()) names = nodes_by_name(m);
      const auto found = names.find(*forward);
      if (found == names.end() || found->second == kNone || found->second == n) continue;
      const Choice choice = c.plan.nodes[found->second].choice;
      if (choice == Choice::leave) break;  // nothing was decided there
      if (c.plan.training.forward.empty()) c.plan.training.forward.assign(m.nodes.size(), kNone);
      c.plan.training.forward[n] = found->second;
      d.choice = choice;
      d.reason = Reason::backward;
      d.rule = r.span;
      break;
    }
  }
}

}  // namespace ampc::passes
