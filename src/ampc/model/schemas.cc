#include "ampc/model/schemas.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>

#include "onnx/defs/operator_sets.h"
#include "onnx/defs/operator_sets_ml.h"
#include "onnx/defs/operator_sets_preview.h"
#include "onnx/defs/operator_sets_training.h"
#include "onnx/defs/schema.h"

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

Signature signature_of(const onnx::OpSchema& schema) {
  Signature s;
  s.domain = schema.domain();
  s.name = schema.Name();
  s.since_version = schema.SinceVersion();
  s.deprecated = schema.Deprecated();
  s.schema = &schema;
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

std::string_view canonical(std::string_view domain) { return domain == "ai.onnx" ? std::string_view{} : domain; }

}  // namespace

const AttrFormal* Signature::attribute(std::string_view attr) const {
  for (const auto& a : attributes) {
    if (a.name == attr) return &a;
  }
  return nullptr;
}

const Formal* Signature::at(const std::vector<Formal>& list, std::size_t position) {
  if (position < list.size()) return &list[position];
  return !list.empty() && list.back().variadic ? &list.back() : nullptr;
}

// Signatures are built when first asked for: a run meets some dozens of the thousand versions that onnx has.
struct Schemas::Impl {
  struct Op {
    std::vector<int> versions;
    std::vector<Signature> signatures;
    std::vector<const Signature*> pointers;
  };
  std::map<std::string, std::map<std::string, Op, std::less<>>, std::less<>> domains;
  std::mutex mutex;

  Op* op(std::string_view domain, std::string_view name) {
    const auto d = domains.find(canonical(domain));
    if (d == domains.end()) return nullptr;
    const auto o = d->second.find(name);
    return o == d->second.end() ? nullptr : &o->second;
  }

  std::span<const Signature* const> versions(std::string_view domain, std::string_view name) {
    Op* o = op(domain, name);
    if (o == nullptr) return {};
    const std::lock_guard lock(mutex);
    if (o->pointers.empty()) {
      std::sort(o->versions.begin(), o->versions.end());
      o->signatures.reserve(o->versions.size());
      for (const int v : o->versions) {
        const auto* schema = onnx::OpSchemaRegistry::Schema(std::string(name), v, std::string(canonical(domain)));
        if (schema != nullptr) o->signatures.push_back(signature_of(*schema));
      }
      for (const auto& s : o->signatures) o->pointers.push_back(&s);
    }
    return o->pointers;
  }
};

namespace {

/// Registers the schemas of operator sets with onnx's own registry, and calls `seen` with each.
template <typename... Sets, typename Seen>
void register_sets(const Seen& seen) {
  const std::function<void(onnx::OpSchema &&)> add = [&](onnx::OpSchema&& schema) {
    seen(schema);
    // A library built with static registration has this one already: then the second is ignored.
    onnx::OpSchemaRegistry::OpSchemaRegisterOnce::OpSchemaRegisterNoExcept(std::move(schema), 0, false);
  };
  (Sets::ForEachSchema(add), ...);
}

}  // namespace

Schemas::Schemas() : impl_(std::make_unique<Impl>()) {
  const auto seen = [this](const onnx::OpSchema& s) {
    impl_->domains[s.domain()][s.Name()].versions.push_back(s.SinceVersion());
  };
  using namespace onnx;  // NOLINT(google-build-using-namespace): the names below are all onnx's
  register_sets<OpSet_Onnx_ver1, OpSet_Onnx_ver2, OpSet_Onnx_ver3, OpSet_Onnx_ver4, OpSet_Onnx_ver5, OpSet_Onnx_ver6,
                OpSet_Onnx_ver7, OpSet_Onnx_ver8, OpSet_Onnx_ver9, OpSet_Onnx_ver10, OpSet_Onnx_ver11, OpSet_Onnx_ver12,
                OpSet_Onnx_ver13, OpSet_Onnx_ver14, OpSet_Onnx_ver15, OpSet_Onnx_ver16, OpSet_Onnx_ver17,
                OpSet_Onnx_ver18, OpSet_Onnx_ver19, OpSet_Onnx_ver20, OpSet_Onnx_ver21, OpSet_Onnx_ver22,
                OpSet_Onnx_ver23, OpSet_Onnx_ver24, OpSet_Onnx_ver25, OpSet_Onnx_ver26, OpSet_Onnx_ver27,
                OpSet_Onnx_ver28>(seen);
  register_sets<OpSet_OnnxML_ver1, OpSet_OnnxML_ver2, OpSet_OnnxML_ver3, OpSet_OnnxML_ver4, OpSet_OnnxML_ver5>(seen);
  register_sets<OpSet_OnnxTraining_ver1, OpSet_OnnxPreview_ver1>(seen);
  onnx::OpSchemaRegistry::SetLoadedSchemaVersion(0);
}

Schemas::~Schemas() = default;

const Schemas& Schemas::get() {
  static const Schemas schemas;
  return schemas;
}

const Signature* Schemas::find(std::string_view domain, std::string_view op, int version) const {
  const Signature* best = nullptr;
  for (const Signature* s : versions(domain, op)) {
    if (s->since_version <= version) best = s;
  }
  return best;
}

std::span<const Signature* const> Schemas::versions(std::string_view domain, std::string_view op) const {
  return impl_->versions(domain, op);
}

bool Schemas::has_domain(std::string_view domain) const { return impl_->domains.contains(canonical(domain)); }

std::vector<std::string_view> Schemas::operators(std::string_view domain) const {
  std::vector<std::string_view> names;
  if (const auto d = impl_->domains.find(canonical(domain)); d != impl_->domains.end()) {
    for (const auto& [name, op] : d->second) names.push_back(name);
  }
  return names;
}

std::vector<std::string_view> Schemas::domains() const {
  std::vector<std::string_view> names;
  for (const auto& [name, ops] : impl_->domains) names.push_back(name);
  return names;
}

int Schemas::newest(std::string_view domain) const {
  const auto& map = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto d = map.find(std::string(canonical(domain)));
  return d == map.end() ? 0 : d->second.second;
}

}  // namespace ampc
