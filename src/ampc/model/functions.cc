#include "ampc/model/functions.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/domain.h"
#include "ampc/model/storage.h"

namespace ampc::functions {
namespace {

constexpr const char* kBody = "function";

/// How a body's names are called where it is copied to.
class Renamer {
 public:
  explicit Renamer(const FunctionCall& call) : call_(call) {
    for (int i = 0; i < call.function->input_size(); ++i) {
      const bool given = i < call.original->input_size();
      formals_.emplace(call.function->input(i), given ? call.original->input(i) : std::string());
    }
  }

  std::string name(const std::string& inner) const {
    if (inner.empty()) return inner;
    const auto formal = formals_.find(inner);
    return formal != formals_.end() ? formal->second : inner_name(call_, inner);
  }

  void node(onnx::NodeProto& n) const {
    for (auto& i : *n.mutable_input()) i = name(i);
    for (auto& o : *n.mutable_output()) o = name(o);
    if (!n.name().empty()) n.set_name(inner_name(call_, n.name()));
    auto* attributes = n.mutable_attribute();
    for (int i = attributes->size(); i-- > 0;) {
      onnx::AttributeProto& a = *attributes->Mutable(i);
      if (!a.ref_attr_name().empty() && !bind(a)) {
        attributes->DeleteSubrange(i, 1);
        continue;
      }
      if (a.has_g()) graph(*a.mutable_g());
      for (auto& g : *a.mutable_graphs()) graph(g);
    }
  }

 private:
  void info(onnx::ValueInfoProto& v) const { v.set_name(name(v.name())); }

  void graph(onnx::GraphProto& g) const {
    for (auto& v : *g.mutable_input()) info(v);
    for (auto& v : *g.mutable_output()) info(v);
    for (auto& v : *g.mutable_value_info()) info(v);
    for (auto& t : *g.mutable_initializer()) t.set_name(name(t.name()));
    for (auto& s : *g.mutable_sparse_initializer()) s.mutable_values()->set_name(name(s.values().name()));
    for (auto& n : *g.mutable_node()) node(n);
  }

  /// An attribute that refers to one of the call: the call's, else the function's default; without either it is absent.
  bool bind(onnx::AttributeProto& a) const {
    const auto take = [&](const auto& list) {
      for (const auto& given : list) {
        if (given.name() != a.ref_attr_name()) continue;
        const std::string own = a.name();
        a = given;
        a.set_name(own);
        return true;
      }
      return false;
    };
    return take(call_.original->attribute()) || take(call_.function->attribute_proto());
  }

  const FunctionCall& call_;
  std::unordered_map<std::string, std::string> formals_;
};

class Expander {
 public:
  Expander(Model& m, Diagnostics& diagnostics) : m_(m), diagnostics_(diagnostics) {}

  void run() {
    for (const auto& f : m_.proto->functions()) functions_.emplace(key(f.domain(), f.name(), f.overload()), &f);
    gather(m_.proto->graph());
    graph(*m_.proto->mutable_graph());
  }

 private:
  static std::string key(std::string_view domain, std::string_view name, std::string_view overload) {
    return fmt::format("{}\n{}\n{}", canonical(domain), name, overload);
  }

  void gather(const onnx::GraphProto& g) {
    for (const auto& v : g.input()) names_.insert(v.name());
    for (const auto& t : g.initializer()) names_.insert(t.name());
    for (const auto& n : g.node()) {
      names_.insert(n.output().begin(), n.output().end());
      for (const auto& a : n.attribute()) {
        if (a.has_g()) gather(a.g());
        for (const auto& body : a.graphs()) gather(body);
      }
    }
  }

  void graph(onnx::GraphProto& g) {
    for (auto& n : *g.mutable_node()) node(n);
  }

  void node(onnx::NodeProto& n) {
    const auto f = functions_.find(key(n.domain(), n.op_type(), n.overload()));
    if (f != functions_.end()) {
      expand(n, *f->second);
      return;
    }
    for (auto& a : *n.mutable_attribute()) {
      if (a.has_g()) graph(*a.mutable_g());
      for (auto& g : *a.mutable_graphs()) graph(g);
    }
  }

  void expand(onnx::NodeProto& n, const onnx::FunctionProto& f) {
    const std::string where = n.name().empty() ? fmt::format("{}: a call of '{}'", m_.path, n.op_type())
                                               : fmt::format("{}: node '{}' ({})", m_.path, n.name(), n.op_type());
    if (std::find(open_.begin(), open_.end(), &f) != open_.end()) {
      diagnostics_.error(codes::kBadNode, fmt::format("the function '{}' calls itself", f.name()))
          .in(where)
          .fix("ONNX's functions cannot recur; a Loop does what is to be repeated");
      return;
    }
    if (n.input_size() > f.input_size()) {
      diagnostics_
          .error(codes::kBadNode, fmt::format("the function '{}' takes {} operands at most, the call has {}", f.name(),
                                              f.input_size(), n.input_size()))
          .in(where);
      return;
    }
    if (n.output_size() > f.output_size()) {
      diagnostics_
          .error(codes::kBadNode, fmt::format("the function '{}' has {} results, the call {}", f.name(),
                                              f.output_size(), n.output_size()))
          .in(where);
      return;
    }
    FunctionCall call;
    auto* original = google::protobuf::Arena::CreateMessage<onnx::NodeProto>(&m_.storage->arena);
    *original = n;
    call.original = original;
    call.function = &f;
    call.prefix = prefix(n);
    n.clear_input();
    n.clear_attribute();
    onnx::AttributeProto* a = n.add_attribute();
    a->set_name(kBody);
    a->set_type(onnx::AttributeProto::GRAPH);
    a->set_i(static_cast<std::int64_t>(m_.calls.size()));
    *a->mutable_g() = body_of(call);
    m_.calls.push_back(std::move(call));
    open_.push_back(&f);
    graph(*a->mutable_g());
    open_.pop_back();
  }

  /// No name of the model begins with it.
  std::string prefix(const onnx::NodeProto& n) {
    const std::string base = n.name().empty() ? n.op_type() : n.name();
    std::string text = base + "/";
    const auto taken = [&] {
      const auto at = names_.lower_bound(text);
      return at != names_.end() && at->starts_with(text);
    };
    for (int i = 1; taken(); ++i) text = fmt::format("{}_{}/", base, i);
    names_.insert(text);
    return text;
  }

  Model& m_;
  Diagnostics& diagnostics_;
  std::map<std::string, const onnx::FunctionProto*> functions_;
  std::set<std::string> names_;
  std::vector<const onnx::FunctionProto*> open_;
};

}  // namespace

std::string inner_name(const FunctionCall& call, std::string_view name) { return call.prefix + std::string(name); }

const onnx::AttributeProto* body_attribute(const onnx::NodeProto& node) {
  if (node.attribute_size() != 1) return nullptr;
  const onnx::AttributeProto& a = node.attribute(0);
  return a.has_i() && a.has_g() && a.name() == kBody ? &a : nullptr;
}

onnx::AttributeProto* body_attribute(onnx::NodeProto& node) {
  return body_attribute(std::as_const(node)) == nullptr ? nullptr : node.mutable_attribute(0);
}

onnx::GraphProto body_of(const FunctionCall& call) {
  const Renamer names(call);
  onnx::GraphProto body;
  body.set_name(call.function->name());
  *body.mutable_node() = call.function->node();
  for (auto& n : *body.mutable_node()) names.node(n);
  for (int i = 0; i < call.original->output_size(); ++i)
    body.add_output()->set_name(names.name(call.function->output(i)));
  *body.mutable_value_info() = call.function->value_info();
  for (auto& v : *body.mutable_value_info()) v.set_name(names.name(v.name()));
  return body;
}

void expand_calls(Model& m, Diagnostics& diagnostics) {
  if (m.proto->functions_size() != 0) Expander(m, diagnostics).run();
}

}  // namespace ampc::functions
