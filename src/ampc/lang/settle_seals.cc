// What a file seals, no other may go round. A statement of the same width contradicts or overrides the sealed one,
// which is told elsewhere; one that is narrower would silently decide before it.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ampc/lang/draft.h"
#include "ampc/lang/places.h"

namespace ampc::lang {
namespace {

template <typename Entry, typename Against>
void check(const std::vector<Entry>& entries, const Program& program, Diagnostics& diagnostics, Against against) {
  std::map<OpName, std::vector<const Entry*>> sealed;
  for (const Entry& e : entries) {
    if (e.sealed) sealed[e.rule.op].push_back(&e);
  }
  if (sealed.empty()) return;
  for (const Entry& e : entries) {
    const auto group = sealed.find(e.rule.op);
    if (group == sealed.end()) continue;
    for (const Entry* s : group->second) {
      // Whoever seals knows what he imports.
      if (s->unit == e.unit || program.reaches[s->unit][e.unit] || !overlap(s->rule.when, e.rule.when) ||
          !against(e, *s)) {
        continue;
      }
      report_sealed(diagnostics, program, spelling(e.rule.op), {e.rule.span, e.unit}, {s->rule.span, s->unit});
      break;
    }
  }
}

// A pattern decides before its operators do.
void check_patterns(const Draft& draft, const Program& program, Diagnostics& diagnostics) {
  std::map<OpName, std::vector<const OpEntry*>> sealed;
  for (const OpEntry& e : draft.ops) {
    if (e.sealed && (e.rule.verdict == Verdict::deny || e.rule.verdict == Verdict::allow)) {
      sealed[e.rule.op].push_back(&e);
    }
  }
  if (sealed.empty()) return;
  const auto against = [&](const PatternEntry& p, const PatternRule::Call& call) -> const OpEntry* {
    const auto group = sealed.find(call.op);
    if (group == sealed.end()) return nullptr;
    for (const OpEntry* s : group->second) {
      const auto other = s->rule.verdict == Verdict::deny ? PatternRule::Action::low : PatternRule::Action::keep_fp32;
      if (s->unit == p.unit || program.reaches[s->unit][p.unit] || !overlap(s->rule.when, p.rule.when)) continue;
      if (p.rule.action == other) return s;
    }
    return nullptr;
  };
  for (const PatternEntry& p : draft.patterns) {
    if (p.off) continue;
    const OpEntry* found = nullptr;
    for (const PatternRule::Step& step : p.rule.steps) {
      for (const PatternRule::Call& call : step.calls) {
        if (found == nullptr) found = against(p, call);
      }
    }
    if (found == nullptr) continue;
    report_sealed(diagnostics, program, spelling(found->rule.op), {p.rule.span, p.unit},
                  {found->rule.span, found->unit});
  }
}

}  // namespace

void check_seals(const Draft& draft, const Program& program, Diagnostics& diagnostics) {
  check(draft.ops, program, diagnostics, [](const OpEntry& e, const OpEntry& s) {
    const bool fact = e.rule.verdict == Verdict::unsupported;
    return fact == (s.rule.verdict == Verdict::unsupported) && e.rule.verdict != s.rule.verdict &&
           (e.rule.scope != s.rule.scope || e.where != s.where);
  });
  check(draft.roles, program, diagnostics, [](const RoleEntry& e, const RoleEntry& s) {
    if (e.rule.results != s.rule.results || !excludes(e.rule.action, s.rule.action) || e.rule.scope == s.rule.scope) {
      return false;
    }
    const std::set<std::string> mine = operands_of(e), theirs = operands_of(s);
    return std::any_of(mine.begin(), mine.end(), [&](const std::string& name) { return theirs.contains(name); });
  });
  check_patterns(draft, program, diagnostics);
}

}  // namespace ampc::lang
