// Overrides and contradictions among lists and roles.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/draft.h"
#include "ampc/lang/places.h"

namespace ampc::lang {

namespace {

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

// Everything that b covers, a covers too.
bool covers(const When& a, const When& b) {
  return (b.levels & ~a.levels) == 0 && (a.fp16 || !b.fp16) && (a.bf16 || !b.bf16);
}

When intersection(const When& a, const When& b) { return {a.levels & b.levels, a.fp16 && b.fp16, a.bf16 && b.bf16}; }

auto key(const When& w) { return std::tuple(w.levels, w.fp16, w.bf16); }

std::string_view past(Verdict verdict) {
  constexpr std::string_view words[] = {"allowed", "denied", "told to follow", "called unsupported", "left alone"};
  return words[static_cast<std::size_t>(verdict)];
}

class Settler {
 public:
  Settler(Draft& draft, const Program& program, Diagnostics& diagnostics)
      : draft_(draft), program_(program), diagnostics_(diagnostics) {}

  void run() {
    override_lists();
    override_roles();
    check_seals(draft_, program_, diagnostics_);
    check_lists();
    check_roles();
  }

 private:
  bool reaches(std::size_t from, std::size_t to) const { return program_.reaches[from][to]; }

  // ---- overrides ----

  // A verdict replaces verdicts; `unsupported` states a fact and replaces such facts alone.
  static bool same_kind(Verdict a, Verdict b) { return (a == Verdict::unsupported) == (b == Verdict::unsupported); }

  void override_lists() {
    std::map<OpName, std::vector<std::size_t>> by_op;
    std::vector<std::vector<std::size_t>> overriding(program_.units.size());
    for (std::size_t i = 0; i < draft_.ops.size(); ++i) {
      by_op[draft_.ops[i].rule.op].push_back(i);
      if (draft_.ops[i].overriding) overriding[draft_.ops[i].unit].push_back(i);
    }
    std::vector<bool> dead(draft_.ops.size(), false);
    for (const std::size_t unit : program_.imports_first) {
      for (const std::size_t i : overriding[unit]) {
        const OpEntry by = draft_.ops[i];
        bool found = false;
        std::vector<std::size_t>& candidates = by_op[by.rule.op];
        for (std::size_t k = 0; k < candidates.size(); ++k) {
          const std::size_t c = candidates[k];
          const OpEntry old = draft_.ops[c];
          if (!reaches(by.unit, old.unit) || old.rule.scope != by.rule.scope ||
              !same_kind(old.rule.verdict, by.rule.verdict) || !overlap(old.rule.when, by.rule.when) ||
              (!by.where.empty() && by.where != old.where)) {
            continue;
          }
          found = true;
          if (dead[c]) continue;
          if (old.sealed) {
            report_sealed(diagnostics_, program_, spelling(by.rule.op), {by.rule.span, by.unit},
                          {old.rule.span, old.unit});
            dead[i] = true;
            break;
          }
          dead[c] = true;
          for (const When& rest : without(old.rule.when, by.rule.when)) {
            candidates.push_back(draft_.ops.size());
            draft_.ops.push_back(old);
            draft_.ops.back().rule.when = rest;
            dead.push_back(false);
          }
        }
        if (!found) {
          nothing_to_override(by, candidates);
          dead[i] = true;  // said nothing that could contradict
        }
      }
    }
    std::vector<OpEntry> live;
    for (std::size_t i = 0; i < draft_.ops.size(); ++i) {
      if (!dead[i]) live.push_back(std::move(draft_.ops[i]));
    }
    draft_.ops = std::move(live);
  }

  void nothing_to_override(const OpEntry& by, const std::vector<std::size_t>& candidates) {
    auto& d = diagnostics_
                  .error(codes::kNothingToOverride,
                         "'override' finds nothing that imported files say of " + quote(spelling(by.rule.op)))
                  .at(by.rule.span);
    for (const std::size_t c : candidates) {
      const OpEntry& other = draft_.ops[c];
      if (other.unit == by.unit && !other.overriding) {
        d.also(other.rule.span, "this statement is in the same file").fix("change it there");
        return;
      }
      if (reaches(by.unit, other.unit)) {
        d.also(other.rule.span, "this holds elsewhere (another level, type, scope or condition)");
        if (!by.where.empty()) {
          d.fix("a statement with 'where' is stronger than one without: leave 'override' out");
          if (!by.through_alias) edit_override_out(d, program_, by.rule.span);
          return;
        }
      } else if (other.unit != by.unit && same_kind(other.rule.verdict, by.rule.verdict)) {
        d.also(other.rule.span, "said here, in a file that this one does not import")
            .fix("move the statement into a file that imports both, or import that file here");
        return;
      }
    }
    d.fix("leave 'override' out");
    if (!by.through_alias) edit_override_out(d, program_, by.rule.span);
  }

  void override_roles() {
    std::vector<RoleEntry>& roles = draft_.roles;
    std::vector<bool> overriding(program_.units.size(), false);
    for (const RoleEntry& e : roles) {
      if (e.overriding) overriding[e.unit] = true;
    }
    for (const std::size_t unit : program_.imports_first) {
      if (!overriding[unit]) continue;
      const std::size_t count = roles.size();
      std::vector<RoleEntry> next;
      std::vector<bool> dead(count, false);
      for (std::size_t i = 0; i < count; ++i) {
        if (!roles[i].overriding || roles[i].unit != unit) continue;
        const RoleEntry by = roles[i];
        bool found = false;
        const std::set<std::string> mine = operands_of(by);
        for (std::size_t c = 0; c < roles.size(); ++c) {
          if (c == i || (c < dead.size() && dead[c])) continue;
          const RoleEntry old = roles[c];
          if (!reaches(by.unit, old.unit) || old.rule.op != by.rule.op || old.rule.results != by.rule.results ||
              old.rule.scope != by.rule.scope || !overlap(old.rule.when, by.rule.when)) {
            continue;
          }
          std::set<std::string> rest = operands_of(old);
          const std::size_t before = rest.size();
          for (const std::string& name : mine) rest.erase(name);
          if (rest.size() == before) continue;
          found = true;
          if (old.sealed) {
            report_sealed(diagnostics_, program_, spelling(by.rule.op), {by.statement, by.unit},
                          {old.rule.span, old.unit});
            dead.resize(std::max(dead.size(), roles.size()), false);
            dead[i] = true;
            break;
          }
          dead.resize(std::max(dead.size(), roles.size()), false);
          dead[c] = true;
          for (const When& when : without(old.rule.when, by.rule.when)) {
            roles.push_back(old);
            roles.back().rule.when = when;
          }
          if (!rest.empty()) {
            roles.push_back(narrowed(old, rest));
            roles.back().rule.when = intersection(old.rule.when, by.rule.when);
          }
        }
        if (!found) {
          auto& d =
              diagnostics_
                  .error(codes::kNothingToOverride, "'override' finds no role that imported files give to these " +
                                                        std::string(by.rule.results ? "results" : "operands") + " of " +
                                                        quote(spelling(by.rule.op)))
                  .at(by.statement)
                  .fix("leave 'override' out");
          if (by.target.alias == nullptr) edit_override_out(d, program_, by.rule.span);
        }
      }
      dead.resize(roles.size(), false);
      for (std::size_t i = 0; i < roles.size(); ++i) {
        if (!dead[i]) next.push_back(std::move(roles[i]));
      }
      roles = std::move(next);
    }
  }

  static RoleEntry narrowed(RoleEntry entry, const std::set<std::string>& operands) {
    std::vector<OperandRef> refs;
    entry.rule.attributes.clear();
    for (const std::string& name : operands) {
      if (name.starts_with('@')) {
        entry.rule.attributes.push_back(name.substr(1));
        continue;
      }
      OperandRef ref{-1, name, entry.rule.span};
      if (name.starts_with('#')) ref = {std::stoi(name.substr(1)), {}, entry.rule.span};
      refs.push_back(std::move(ref));
    }
    entry.rule.every = operands.contains("*");
    entry.rule.except = false;
    entry.rule.operands = entry.rule.every ? std::vector<OperandRef>{} : std::move(refs);
    return entry;
  }

  // ---- contradictions ----

  // Of two places: the one to report at, and the other. The importing file's, else the later one.
  template <typename Entry>
  std::pair<const Entry*, const Entry*> ordered(const Entry& a, const Entry& b) const {
    if (reaches(a.unit, b.unit)) return {&a, &b};
    if (reaches(b.unit, a.unit)) return {&b, &a};
    const auto place = [&](const Entry& e) {
      return std::tuple(std::string_view(program_.units[e.unit].path), e.rule.span.begin);
    };
    return place(a) < place(b) ? std::pair(&b, &a) : std::pair(&a, &b);
  }

  std::string levels_of(const When& when) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < draft_.rules.levels.size(); ++i) {
      if (((when.levels >> i) & 1U) != 0) names.push_back(draft_.rules.levels[i].name);
    }
    return list_of(names, false, "and");
  }

  // "at O1, for bf16" where the statements differ in when they hold.
  std::string both_hold(const When& a, const When& b) const {
    if (key(a) == key(b)) return {};
    const When both = intersection(a, b);
    std::string text = "both hold";
    if (both.levels != 0xffffffffU) text += " at " + levels_of(both);
    if (!both.fp16 || !both.bf16) text += both.fp16 ? " for fp16" : " for bf16";
    return text == "both hold" ? std::string() : text;
  }

  template <typename Entry>
  std::string way_out(const Entry& at, const Entry& other, const std::string& replacement) const {
    if (other.sealed && at.unit != other.unit) return "the imported statement is sealed: leave this one out";
    if (reaches(at.unit, other.unit))
      return "to replace what the imported file says, write 'override " + replacement + "'";
    if (at.unit == other.unit) return "remove one of the two";
    return "a file that imports both decides with 'override'";
  }

  void check_lists() {
    std::vector<OpEntry*> entries;
    for (OpEntry& e : draft_.ops) entries.push_back(&e);
    std::stable_sort(entries.begin(), entries.end(), [&](const OpEntry* a, const OpEntry* b) {
      return std::tie(a->rule.op, a->rule.scope, a->where, program_.units[a->unit].path, a->rule.span.begin) <
             std::tie(b->rule.op, b->rule.scope, b->where, program_.units[b->unit].path, b->rule.span.begin);
    });
    std::vector<OpRule> kept;
    for (std::size_t begin = 0; begin < entries.size();) {
      std::size_t end = begin + 1;
      while (end < entries.size() && entries[end]->rule.op == entries[begin]->rule.op &&
             entries[end]->rule.scope == entries[begin]->rule.scope && entries[end]->where == entries[begin]->where) {
        ++end;
      }
      std::vector<const OpEntry*> distinct;
      for (std::size_t i = begin; i < end; ++i) {
        if (!said(*entries[i], distinct)) {
          distinct.push_back(entries[i]);
          kept.push_back(entries[i]->rule);
        }
      }
      begin = end;
    }
    draft_.rules.ops = std::move(kept);
  }

  // Is the same said already? Reports that, and what contradicts it.
  bool said(const OpEntry& e, const std::vector<const OpEntry*>& before) {
    for (const OpEntry* other : before) {
      if (e.rule.verdict == other->rule.verdict && covers(other->rule.when, e.rule.when)) {
        const bool related = e.unit == other->unit || reaches(e.unit, other->unit) || reaches(other->unit, e.unit);
        const bool once =
            e.rule.span.begin == other->rule.span.begin && e.unit == other->unit;  // one alias, one operator
        if (related && !once && !e.through_alias && !other->through_alias) {
          const auto [at, first] = ordered(e, *other);
          auto& d = diagnostics_
                        .warning(codes::kDuplicate,
                                 quote(spelling(e.rule.op)) + " is " + std::string(past(e.rule.verdict)) + " twice")
                        .at(at->rule.span)
                        .also(first->rule.span, "here as well")
                        .fix("leave one of the two out");
          // The one that is said here already may hold for more than the other.
          if (at == &e || key(at->rule.when) == key(first->rule.when)) edit_out(d, program_, at->rule.span);
        }
        return true;
      }
    }
    for (const OpEntry* other : before) {
      if (e.rule.verdict == other->rule.verdict || !same_kind(e.rule.verdict, other->rule.verdict) ||
          !overlap(e.rule.when, other->rule.when)) {
        continue;
      }
      const auto [at, first] = ordered(e, *other);
      auto& d = diagnostics_
                    .error(codes::kContradiction, quote(spelling(e.rule.op)) + " is both " +
                                                      std::string(past(at->rule.verdict)) + " and " +
                                                      std::string(past(first->rule.verdict)))
                    .at(at->rule.span, std::string(past(at->rule.verdict)) + " here")
                    .also(first->rule.span, std::string(past(first->rule.verdict)) + " here");
      if (const std::string note = both_hold(e.rule.when, other->rule.when); !note.empty()) d.note(note);
      show_imports(d, program_, at->unit, first->unit);
      d.fix(way_out(*at, *first, std::string(ast::spelling(at->rule.verdict)) + " " + spelling(e.rule.op)));
      if (reaches(at->unit, first->unit) && !first->sealed && !at->through_alias)
        edit_override_in(d, program_, at->rule.span);
      break;
    }
    return false;
  }

  void check_roles() {
    std::map<std::tuple<OpName, bool, ScopeId>, std::vector<std::pair<const RoleEntry*, std::set<std::string>>>> groups;
    std::vector<const RoleEntry*> entries;
    for (const RoleEntry& e : draft_.roles) entries.push_back(&e);
    std::stable_sort(entries.begin(), entries.end(), [&](const RoleEntry* a, const RoleEntry* b) {
      return std::tie(program_.units[a->unit].path, a->rule.span.begin) <
             std::tie(program_.units[b->unit].path, b->rule.span.begin);
    });
    for (const RoleEntry* e : entries) {
      auto& group = groups[{e->rule.op, e->rule.results, e->rule.scope}];
      const std::set<std::string> mine = operands_of(*e);
      if (role_said(*e, mine, group)) continue;
      group.emplace_back(e, mine);
      draft_.rules.roles.push_back(e->rule);
    }
  }

  bool role_said(const RoleEntry& e, const std::set<std::string>& mine,
                 const std::vector<std::pair<const RoleEntry*, std::set<std::string>>>& before) {
    for (const auto& [other, theirs] : before) {
      if (other->rule.action != e.rule.action || !covers(other->rule.when, e.rule.when) ||
          !std::includes(theirs.begin(), theirs.end(), mine.begin(), mine.end())) {
        continue;
      }
      if (e.unit == other->unit && e.rule.span.begin != other->rule.span.begin &&
          other->target.alias == e.target.alias) {
        auto& d =
            diagnostics_.warning(codes::kDuplicate, "this role of " + quote(spelling(e.rule.op)) + " is given twice")
                .at(e.rule.span)
                .also(other->rule.span, "here as well")
                .fix("leave one of the two out");
        if (e.target.alias == nullptr) edit_out(d, program_, e.rule.span);
      }
      return true;
    }
    for (const auto& [other, theirs] : before) {
      if (!excludes(other->rule.action, e.rule.action) || !overlap(other->rule.when, e.rule.when)) continue;
      std::vector<std::string> both;
      std::set_intersection(theirs.begin(), theirs.end(), mine.begin(), mine.end(), std::back_inserter(both));
      if (both.empty()) continue;
      const auto [at, first] = ordered(e, *other);
      auto& d =
          diagnostics_
              .error(codes::kContradiction, list_of(both, true, "and") + " of " + spelling(e.rule.op) +
                                                " cannot be both '" + std::string(ast::spelling(at->rule.action)) +
                                                "' and '" + std::string(ast::spelling(first->rule.action)) + "'")
              .at(at->rule.span)
              .also(first->rule.span, "the other role");
      if (const std::string note = both_hold(e.rule.when, other->rule.when); !note.empty()) d.note(note);
      show_imports(d, program_, at->unit, first->unit);
      d.fix(way_out(*at, *first, spelling(e.rule.op) + (e.rule.results ? " result ..." : " arg ...")));
      if (reaches(at->unit, first->unit) && !first->sealed && at->target.alias == nullptr)
        edit_override_in(d, program_, at->rule.span);
      break;
    }
    return false;
  }

  Draft& draft_;
  const Program& program_;
  Diagnostics& diagnostics_;
};

}  // namespace

void settle_rules(Draft& draft, const Program& program, Diagnostics& diagnostics) {
  Settler(draft, program, diagnostics).run();
}

}  // namespace ampc::lang
