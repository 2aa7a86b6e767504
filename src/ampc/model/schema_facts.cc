#include "ampc/model/schema_facts.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <unordered_map>

#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace ampc {
namespace {

const std::unordered_map<std::string_view, ElemType>& elem_names() {
  static const auto* names = [] {
    auto* m = new std::unordered_map<std::string_view, ElemType>;
    for (int t = 1; t <= kLastElemType; ++t) {
      if (!onnx::TensorProto_DataType_IsValid(t)) continue;
      // onnx spells types in lower case in schemas ("tensor(float16)"); its enum has the same words in upper case.
      auto* word = new std::string(onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(t)));
      std::transform(word->begin(), word->end(), word->begin(),
                     [](char c) { return static_cast<char>(std::tolower(c)); });
      m->emplace(*word, static_cast<ElemType>(t));
    }
    return m;
  }();
  return *names;
}

/// Adds what `type` ("tensor(float)", "seq(tensor(float))", …) admits; false where it is no dense tensor.
bool add_type(std::string_view type, ElemTypeSet& set) {
  constexpr std::string_view prefix = "tensor(";
  if (!type.starts_with(prefix)) return false;
  const auto found = elem_names().find(type.substr(prefix.size(), type.size() - prefix.size() - 1));
  if (found != elem_names().end()) set.insert(found->second);
  return true;
}

AttrFormal attribute_of(const onnx::OpSchema::Attribute& a) {
  AttrFormal out;
  out.name = a.name;
  out.required = a.required;
  out.has_default = a.default_value.has_name();
  switch (a.type) {
    case onnx::AttributeProto::INT:
      out.kind = AttrKind::integer;
      out.number = static_cast<double>(a.default_value.i());
      break;
    case onnx::AttributeProto::FLOAT:
      out.kind = AttrKind::floating;
      out.number = static_cast<double>(a.default_value.f());
      break;
    case onnx::AttributeProto::STRING:
      out.kind = AttrKind::string;
      out.text = a.default_value.s();
      break;
    case onnx::AttributeProto::TENSOR:
      out.kind = AttrKind::tensor;
      break;
    case onnx::AttributeProto::GRAPH:
    case onnx::AttributeProto::GRAPHS:
      out.kind = AttrKind::graph;
      break;
    case onnx::AttributeProto::TYPE_PROTO:
      out.kind = AttrKind::type;
      break;
    case onnx::AttributeProto::INTS:
    case onnx::AttributeProto::FLOATS:
    case onnx::AttributeProto::STRINGS:
      out.kind = AttrKind::list;
      break;
    default:
      break;
  }
  return out;
}

}  // namespace

Signature signature_of(const onnx::OpSchema& schema) {
  Signature s;
  s.domain = schema.domain();
  s.name = schema.Name();
  s.since_version = schema.SinceVersion();
  s.deprecated = schema.Deprecated();
  for (const auto& c : schema.typeConstraintParams()) {
    TypeVar v;
    v.name = c.type_param_str;
    for (const auto& t : c.allowed_type_strs) add_type(t, v.elems);
    s.type_vars.push_back(std::move(v));
  }
  const auto formal = [&](const onnx::OpSchema::FormalParameter& p) {
    Formal f;
    f.name = p.GetName();
    f.optional = p.GetOption() == onnx::OpSchema::Optional;
    f.variadic = p.GetOption() == onnx::OpSchema::Variadic;
    f.homogeneous = p.GetIsHomogeneous();
    for (const auto& t : p.GetTypes()) f.tensor_only &= add_type(*t, f.elems);
    for (std::size_t i = 0; i < s.type_vars.size(); ++i) {
      if (s.type_vars[i].name == p.GetTypeStr()) f.type_var = static_cast<int>(i);
    }
    return f;
  };
  for (const auto& p : schema.inputs()) {
    s.inputs.push_back(formal(p));
    if (const int v = s.inputs.back().type_var; v != kNoTypeVar && s.inputs.back().homogeneous) {
      s.type_vars[static_cast<std::size_t>(v)].bound_by_input = true;
    }
  }
  for (const auto& p : schema.outputs()) s.outputs.push_back(formal(p));
  for (const auto& [name, a] : schema.attributes()) s.attributes.push_back(attribute_of(a));
  std::sort(s.attributes.begin(), s.attributes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return s;
}

}  // namespace ampc
