#include "ampc/emit/graph_names.h"

#include "onnx/onnx_pb.h"

namespace ampc::emit {

void GraphNames::make(const std::string& name) {
  if (!name.empty() && made_set_.insert(name).second) made_.push_back(name);
}

void GraphNames::use(const std::string& name) {
  if (!name.empty() && used_set_.insert(name).second) used_.push_back(name);
}

void GraphNames::gather(const onnx::GraphProto& g) {
  for (const auto& v : g.input()) make(v.name());
  for (const auto& t : g.initializer()) make(t.name());
  for (const auto& s : g.sparse_initializer()) make(s.values().name());
  for (const auto& n : g.node()) {
    for (const auto& i : n.input()) use(i);
    for (const auto& a : n.attribute()) {
      if (a.has_g()) gather(a.g());
      for (const auto& body : a.graphs()) gather(body);
    }
    for (const auto& o : n.output()) make(o);
  }
  for (const auto& v : g.output()) use(v.name());
}

std::vector<std::string> GraphNames::read() const {
  std::vector<std::string> names;
  for (const auto& name : used_) {
    if (!made_set_.contains(name)) names.push_back(name);
  }
  return names;
}

void GraphNames::rename(onnx::GraphProto& g, const std::unordered_map<std::string, std::string>& names,
                        std::string_view prefix) {
  const auto change = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (auto* list : {g.mutable_input(), g.mutable_output(), g.mutable_value_info()}) {
    for (auto& v : *list) change(*v.mutable_name());
  }
  for (auto& t : *g.mutable_initializer()) change(*t.mutable_name());
  for (auto& s : *g.mutable_sparse_initializer()) change(*s.mutable_values()->mutable_name());
  for (auto& n : *g.mutable_node()) {
    for (auto& i : *n.mutable_input()) change(i);
    for (auto& o : *n.mutable_output()) change(o);
    if (!prefix.empty() && n.name().starts_with(prefix)) n.set_name(n.name().substr(prefix.size()));
    for (auto& a : *n.mutable_attribute()) {
      if (a.has_g()) rename(*a.mutable_g(), names, prefix);
      for (auto& body : *a.mutable_graphs()) rename(body, names, prefix);
    }
  }
}

}  // namespace ampc::emit
