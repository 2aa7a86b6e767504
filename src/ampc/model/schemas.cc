#include "ampc/model/schemas.h"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>

#include "ampc/model/domain.h"
#include "ampc/model/schema_table.h"

namespace ampc {
namespace {

Formal formal_of(const schema_table::FormalRow& row) {
  Formal f;
  f.name = row.name;
  f.type_var = row.type_var;
  f.elems = ElemTypeSet(row.elems);
  f.tensor_only = row.tensor_only;
  f.optional = row.optional;
  f.variadic = row.variadic;
  f.homogeneous = row.homogeneous;
  return f;
}

Signature signature_of(const schema_table::OpRow& row) {
  Signature s;
  s.domain = row.domain;
  s.name = row.name;
  s.since_version = row.since_version;
  s.deprecated = row.deprecated;
  for (const auto& f : schema_table::formals.subspan(row.first_formal, row.inputs)) s.inputs.push_back(formal_of(f));
  for (const auto& f : schema_table::formals.subspan(row.first_formal + row.inputs, row.outputs))
    s.outputs.push_back(formal_of(f));
  for (const auto& v : schema_table::vars.subspan(row.first_var, row.vars))
    s.type_vars.push_back({v.name, ElemTypeSet(v.elems), v.bound_by_input});
  for (const auto& a : schema_table::attributes.subspan(row.first_attribute, row.attributes))
    s.attributes.push_back({a.name, a.kind, a.required, a.has_default, a.number, a.text});
  return s;
}

/// The rows of one operator.
std::pair<std::size_t, std::size_t> rows_of(std::string_view domain, std::string_view name) {
  const auto key = [](const schema_table::OpRow& row) {
    return std::pair(std::string_view(row.domain), std::string_view(row.name));
  };
  const auto wanted = std::pair(canonical(domain), name);
  const auto ops = schema_table::ops;
  const auto begin =
      std::lower_bound(ops.begin(), ops.end(), wanted, [&](const auto& row, const auto& w) { return key(row) < w; });
  auto end = begin;
  while (end != ops.end() && key(*end) == wanted) ++end;
  return {static_cast<std::size_t>(begin - ops.begin()), static_cast<std::size_t>(end - ops.begin())};
}

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
    std::vector<Signature> signatures;
    std::vector<const Signature*> pointers;
  };
  std::vector<std::unique_ptr<Op>> ops{schema_table::ops.size()};  // by the operator's first row
  std::mutex mutex;
};

Schemas::Schemas() : impl_(std::make_unique<Impl>()) {}

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
  const auto [begin, end] = rows_of(domain, op);
  if (begin == end) return {};
  const std::lock_guard lock(impl_->mutex);
  auto& built = impl_->ops[begin];
  if (built == nullptr) {
    built = std::make_unique<Impl::Op>();
    built->signatures.reserve(end - begin);
    for (const auto& row : schema_table::ops.subspan(begin, end - begin))
      built->signatures.push_back(signature_of(row));
    for (const auto& s : built->signatures) built->pointers.push_back(&s);
  }
  return built->pointers;
}

bool Schemas::has_domain(std::string_view domain) const { return newest(domain) != 0; }

std::vector<std::string_view> Schemas::operators(std::string_view domain) const {
  std::vector<std::string_view> names;
  domain = canonical(domain);
  if (!has_domain(domain)) return names;
  for (const auto& row : schema_table::ops) {
    if (row.domain == domain && (names.empty() || names.back() != row.name)) names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string_view> Schemas::domains() const {
  std::vector<std::string_view> names;
  for (const auto& row : schema_table::domains) names.emplace_back(row.name);
  return names;
}

int Schemas::newest(std::string_view domain) const {
  for (const auto& row : schema_table::domains) {
    if (row.name == canonical(domain)) return row.newest;
  }
  return 0;
}

}  // namespace ampc
