// Overrides among graph patterns, and names that are given twice. Patterns as text.
#include <algorithm>
#include <tuple>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/draft.h"
#include "ampc/lang/places.h"

#include <fmt/format.h>

namespace ampc::lang {

namespace {

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

bool rivals(const PatternEntry& a, const PatternEntry& b) {
  return a.rule.name == b.rule.name && a.rule.scope == b.rule.scope && overlap(a.rule.when, b.rule.when);
}

// Imported files before those that import them, so that a later override finds what an earlier one left.
void override_patterns(Draft& draft, const Program& program, Diagnostics& diagnostics) {
  std::vector<PatternEntry>& list = draft.patterns;
  if (std::none_of(list.begin(), list.end(), [](const PatternEntry& e) { return e.overriding; })) return;
  for (const std::size_t unit : program.imports_first) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].overriding || list[i].unit != unit) continue;
      const PatternEntry by = list[i];
      const auto replaced = [&](const PatternEntry& e) { return program.reaches[by.unit][e.unit] && rivals(e, by); };
      if (std::none_of(list.begin(), list.end(), replaced)) {
        std::vector<std::string> names;
        for (const PatternEntry& e : list) {
          if (program.reaches[by.unit][e.unit]) names.push_back(e.rule.name);
        }
        std::sort(names.begin(), names.end());
        auto& d = diagnostics
                      .error(codes::kNothingToOverride,
                             "'override' finds no pattern " + quote(by.rule.name) + " in imported files")
                      .at(by.rule.span);
        if (!suggest(d, by.rule.name, names)) {
          if (!by.off) edit_override_out(d, program, by.rule.span);
          d.fix(by.off ? "leave the statement out" : "leave 'override' out");
        }
        continue;
      }
      const auto seal =
          std::find_if(list.begin(), list.end(), [&](const PatternEntry& e) { return e.sealed && replaced(e); });
      if (seal != list.end()) {
        report_sealed(diagnostics, program, by.rule.name, {by.rule.span, by.unit}, {seal->rule.span, seal->unit});
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i--));
        continue;
      }
      std::vector<PatternEntry> left;
      for (PatternEntry& e : list) {
        if (!replaced(e)) {
          left.push_back(std::move(e));
          continue;
        }
        for (const When& rest : without(e.rule.when, by.rule.when)) {
          left.push_back(e);
          left.back().rule.when = rest;
        }
      }
      list = std::move(left);
      const auto mine = [&](const PatternEntry& e) {
        return e.unit == unit && e.statement.begin == by.statement.begin;
      };
      i = static_cast<std::size_t>(std::find_if(list.begin(), list.end(), mine) - list.begin());
    }
  }
}

std::string call_text(const PatternRule& p, const PatternRule::Call& c);

std::string value_text(const PatternRule& p, std::uint32_t value) {
  if (value == PatternRule::kAnything) return "_";
  const PatternRule::Value& v = p.values[value];
  if (!v.name.empty() || v.step == PatternRule::kAnything) return v.name;
  const auto& calls = p.steps[v.step].calls;  // more than one where an alias stands for several operators
  std::vector<std::string> texts;
  texts.reserve(calls.size());
  for (const auto& c : calls) texts.push_back(call_text(p, c));
  return fmt::format("{}", fmt::join(texts, " | "));
}

std::string call_text(const PatternRule& p, const PatternRule::Call& c) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const PatternRule::Argument& a = c.arguments[i];
    const bool elsewhere = a.operand.position != static_cast<int>(i);  // named through an alias
    texts.push_back((elsewhere ? print(a.operand) + ": " : "") +
                    (a.constant ? fmt::format("{}", *a.constant) : value_text(p, a.value)));
  }
  if (c.more) texts.emplace_back("*");
  return fmt::format("{}({}){}{}", spelling(c.op), fmt::join(texts, ", "), c.optional ? "?" : "",
                     c.where ? " where " + print(*c.where) : "");
}

}  // namespace

std::string print(const PatternRule& p) {
  std::vector<std::string> parameters, steps;
  for (const PatternRule::Value& v : p.values) {
    if (v.step == PatternRule::kAnything) parameters.push_back(v.name);
  }
  for (const PatternRule::Step& s : p.steps) {
    const bool nested =
        s.results.size() == 1 && s.results[0] != PatternRule::kAnything && p.values[s.results[0]].name.empty();
    if (nested) continue;
    std::vector<std::string> results, calls;
    for (const std::uint32_t v : s.results) results.push_back(value_text(p, v));
    for (const auto& c : s.calls) calls.push_back(call_text(p, c));
    steps.push_back(fmt::format("{} = {}", fmt::join(results, ", "), fmt::join(calls, " | ")));
  }
  constexpr std::string_view actions[] = {"keep fp32", "low", "follow"};
  return fmt::format("{}({}) {{ {} }} {}", p.name, fmt::join(parameters, ", "), fmt::join(steps, "; "),
                     actions[static_cast<std::size_t>(p.action)]);
}

void settle_patterns(Draft& draft, const Program& program, Diagnostics& diagnostics) {
  override_patterns(draft, program, diagnostics);
  std::vector<const PatternEntry*> entries;
  for (const PatternEntry& e : draft.patterns) {
    if (!e.off) entries.push_back(&e);
  }
  std::stable_sort(entries.begin(), entries.end(), [&](const PatternEntry* a, const PatternEntry* b) {
    return std::tie(a->rule.name, program.units[a->unit].path, a->rule.span.begin) <
           std::tie(b->rule.name, program.units[b->unit].path, b->rule.span.begin);
  });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t k = i; k-- > 0 && entries[k]->rule.name == entries[i]->rule.name;) {
      if (!rivals(*entries[i], *entries[k])) continue;
      const bool later = program.reaches[entries[k]->unit][entries[i]->unit];
      const PatternEntry& at = later ? *entries[k] : *entries[i];
      const PatternEntry& first = later ? *entries[i] : *entries[k];
      const bool imported = program.reaches[at.unit][first.unit];
      auto& d = diagnostics.error(codes::kDefinedTwice, "the pattern " + quote(at.rule.name) + " is defined twice")
                    .at(at.rule.span, "here again")
                    .also(first.rule.span, "first here")
                    .fix(imported ? "to replace the imported one, write 'override pattern " + at.rule.name + "(...)'"
                                  : "give one of the two another name");
      show_imports(d, program, at.unit, first.unit);
      if (imported && first.sealed) d.fix("the imported one is sealed: give this one another name");
      if (imported && !first.sealed) edit_override_in(d, program, at.rule.span);
      break;
    }
    draft.rules.patterns.push_back(entries[i]->rule);
  }
}

}  // namespace ampc::lang
