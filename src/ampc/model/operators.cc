#include "ampc/model/operators.h"

#include "ampc/model/domain.h"

#include <algorithm>
#include <tuple>

namespace ampc {
namespace {}  // namespace

Operators::Operators(std::vector<Signature> declared) : declared_(std::move(declared)) {
  std::sort(declared_.begin(), declared_.end(), [](const Signature& a, const Signature& b) {
    return std::tie(a.domain, a.name, a.since_version) < std::tie(b.domain, b.name, b.since_version);
  });
  for (const Signature& s : declared_) by_name_[s.domain][s.name].push_back(&s);
}

std::span<const Signature* const> Operators::versions(std::string_view domain, std::string_view op) const {
  if (const auto known = Schemas::get().versions(domain, op); !known.empty()) return known;
  const auto d = by_name_.find(canonical(domain));
  if (d == by_name_.end()) return {};
  const auto o = d->second.find(op);
  if (o == d->second.end()) return {};
  return o->second;
}

const Signature* Operators::find(std::string_view domain, std::string_view op, int version) const {
  const Signature* best = nullptr;
  for (const Signature* s : versions(domain, op)) {
    if (s->since_version <= version) best = s;
  }
  return best;
}

std::vector<std::string_view> Operators::operators(std::string_view domain) const {
  std::vector<std::string_view> names = Schemas::get().operators(domain);
  if (const auto d = by_name_.find(canonical(domain)); d != by_name_.end()) {
    for (const auto& [name, versions] : d->second) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string_view> Operators::domains() const {
  std::vector<std::string_view> names = Schemas::get().domains();
  for (const auto& [name, ops] : by_name_) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace ampc
