#include "ampc/lang/places.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ampc/diag/codes.h"

namespace ampc::lang {
namespace {

const std::vector<ast::Statement>* body_of(const ast::Statement& s) {
  if (const auto* n = std::get_if<ast::Scope>(&s.node)) return &n->body;
  if (const auto* n = std::get_if<ast::Block>(&s.node)) return &n->body;
  if (const auto* n = std::get_if<ast::LevelDefinition>(&s.node)) return &n->body;
  return nullptr;
}

template <typename Item>
std::vector<Span> spans(const std::vector<Item>& items) {
  std::vector<Span> result;
  for (const Item& item : items) result.push_back(item.span);
  return result;
}

// What the statement lists, by a comma each; empty where it is not about a list of things.
std::vector<Span> items_of(const ast::Statement& s) {
  if (const auto* n = std::get_if<ast::List>(&s.node)) return spans(n->ops);
  if (const auto* n = std::get_if<ast::Fact>(&s.node)) return spans(n->ops);
  if (const auto* n = std::get_if<ast::Role>(&s.node)) return spans(n->ops);
  if (const auto* n = std::get_if<ast::NameRule>(&s.node)) return spans(n->patterns);
  if (const auto* n = std::get_if<ast::IoRule>(&s.node)) return spans(n->patterns);
  return {};
}

}  // namespace

const ast::Statement* statement_at(const Program& program, const Span& place) {
  const ast::Statement* result = nullptr;
  const std::vector<ast::Statement>* list = &program.units[unit_of(program, place.file)].file.statements;
  while (list != nullptr) {
    // In the order of the file.
    const auto after = std::upper_bound(list->begin(), list->end(), place.begin,
                                        [](std::uint32_t at, const ast::Statement& s) { return at < s.span.begin; });
    if (after == list->begin() || std::prev(after)->span.end <= place.begin) break;
    result = &*std::prev(after);
    list = body_of(*result);
  }
  return result;
}

void edit_out(Diagnostic& d, const Program& program, const Span& item) {
  const ast::Statement* s = statement_at(program, item);
  if (s == nullptr) return;
  const std::vector<Span> items = items_of(*s);
  const auto at =
      std::find_if(items.begin(), items.end(), [&](const Span& other) { return other.begin == item.begin; });
  if (items.size() < 2) {
    d.edit(s->span, "");
  } else if (at != items.end() && at != items.begin()) {
    d.edit({item.file, std::prev(at)->end, at->end}, "");
  } else if (at != items.end()) {
    d.edit({item.file, at->begin, std::next(at)->begin}, "");
  }
}

void edit_override_out(Diagnostic& d, const Program& program, const Span& item) {
  const ast::Statement* s = statement_at(program, item);
  if (s != nullptr && items_of(*s).size() < 2) d.edit(s->keyword, "");
}

void edit_override_in(Diagnostic& d, const Program& program, const Span& item) {
  const ast::Statement* s = statement_at(program, item);
  if (s == nullptr || items_of(*s).size() > 1) return;
  d.edit({item.file, s->span.begin, s->span.begin}, "override ");
}

Diagnostic& report_sealed(Diagnostics& diagnostics, const Program& program, const std::string& what,
                          const PlaceInUnit& at, const PlaceInUnit& sealed) {
  auto& d = diagnostics.error(codes::kSealed, "what another file says of '" + what + "' is sealed")
                .at(at.span, "this says something else")
                .also(sealed.span, "sealed here")
                .fix("leave this out, or ask those who keep " + program.units[sealed.unit].path + " to open it");
  show_imports(d, program, at.unit, sealed.unit);
  return d;
}

std::size_t unit_of(const Program& program, FileId file) {
  const auto at =
      std::find_if(program.units.begin(), program.units.end(), [&](const Unit& unit) { return unit.file.id == file; });
  return static_cast<std::size_t>(at - program.units.begin());
}

void show_imports(Diagnostic& d, const Program& program, std::size_t a, std::size_t b) {
  if (a == b) return;
  // The shortest way from the root to each unit, by the unit before it and the import there.
  std::vector<std::optional<std::pair<std::size_t, Span>>> from(program.units.size());
  std::deque<std::size_t> next = {0};
  while (!next.empty()) {
    const std::size_t unit = next.front();
    next.pop_front();
    const Unit& u = program.units[unit];
    for (std::size_t i = 0; i < u.imports.size(); ++i) {
      if (u.imports[i] == 0 || from[u.imports[i]]) continue;
      from[u.imports[i]] = {unit, u.import_places[i]};
      next.push_back(u.imports[i]);
    }
  }
  const bool swapped = program.units[b].path < program.units[a].path;  // which side is reported at does not show here
  for (std::size_t unit : {swapped ? b : a, swapped ? a : b}) {
    if (!from[unit]) continue;
    std::string text = program.units[unit].path + " is imported";
    for (; from[unit]; unit = from[unit]->first) {
      const Span& place = from[unit]->second;
      text += text.ends_with("imported") ? " " : ", and that ";
      text += place.valid() ? fmt::format("by {}:{}", program.units[from[unit]->first].path,
                                          program.sources->position(place.file, place.begin).line)
                            : "by the command line";
    }
    d.note(std::move(text));
  }
}

}  // namespace ampc::lang
