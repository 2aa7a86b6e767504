// What statements between syntax and RuleSet have to do with each other.
#include "ampc/lang/draft.h"

namespace ampc::lang {

bool excludes(RoleAction a, RoleAction b) {
  const auto stored = [](RoleAction x) { return x == RoleAction::keep_fp32 || x == RoleAction::store_fp32; };
  const auto exact = [](RoleAction x) { return x == RoleAction::exact || x == RoleAction::exact_from_integers; };
  return a != b && ((stored(a) && stored(b)) || (exact(a) && exact(b)));
}

std::set<std::string> operands_of(const RoleEntry& entry) {
  std::set<std::string> result;
  const Signature* newest = entry.target.known() ? entry.target.versions.back() : nullptr;
  const auto id = [&](const OperandRef& ref) {
    if (ref.position < 0) return ref.name;
    const Formal* f = newest == nullptr ? nullptr : Names::find_formal(*newest, ref, entry.rule.results);
    return f == nullptr || f->variadic ? "#" + std::to_string(ref.position) : f->name;
  };
  if (entry.rule.every) {
    if (newest != nullptr) {
      for (const Formal& f : entry.rule.results ? newest->outputs : newest->inputs) result.insert(f.name);
    } else {
      result.insert("*");
    }
  }
  for (const std::string& attribute : entry.rule.attributes) result.insert("@" + attribute);
  for (const OperandRef& ref : entry.rule.operands) {
    if (entry.rule.every) {
      result.erase(id(ref));
    } else {
      result.insert(id(ref));
    }
  }
  return result;
}

bool overlap(const When& a, const When& b) {
  return (a.levels & b.levels) != 0 && ((a.fp16 && b.fp16) || (a.bf16 && b.bf16));
}

std::vector<When> without(const When& a, const When& b) {
  std::vector<When> result;
  if (When rest = a; (rest.levels &= ~b.levels) != 0) result.push_back(rest);
  When same = a;
  same.levels &= b.levels;
  same.fp16 = a.fp16 && !b.fp16;
  same.bf16 = a.bf16 && !b.bf16;
  if (same.levels != 0 && (same.fp16 || same.bf16)) result.push_back(same);
  return result;
}

}  // namespace ampc::lang
