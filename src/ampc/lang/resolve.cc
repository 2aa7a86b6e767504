// Statements to rules: levels, settings, and what all statements share.
#include <algorithm>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/places.h"
#include "ampc/lang/resolver.h"
#include "ampc/lang/settings.h"
#include "ampc/lang/synonyms.h"

namespace ampc::lang {

namespace {

constexpr std::size_t kMostLevels = 32;  // bits of When::levels

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

// What to write instead of a glob that is none.
std::string glob_help(std::string_view error) {
  if (error.starts_with("'{'")) return "close it with '}'; the letter itself is written \\\\{";
  if (error.starts_with("'}'")) return "leave it out; the letter itself is written \\\\}";
  if (error.starts_with("it is empty")) return "\"**\" stands for every name";
  if (error.starts_with("the range")) return "write the smaller number first: {1..3}";
  if (error.starts_with("a range is of")) return "words are listed: {query,key,value}";
  if (error.starts_with("a range of more")) return "write * for any number";
  return "write it with fewer braces";
}

}  // namespace

Resolver::Resolver(const Program& program, const Names& names, Diagnostics& diagnostics)
    : program_(program), names_(names), diagnostics_(diagnostics) {
  draft_.rules.scopes.emplace_back();
  draft_.scope_keys.emplace_back();
}

Draft Resolver::run() {
  for (const Unit& unit : program_.units) draft_.rules.files.push_back(unit.path);
  collect_levels();
  for (std::size_t u = 0; u < program_.units.size(); ++u) {
    statements(program_.units[u].file.statements, {u, kWholeModel, std::nullopt, {}, false, false});
  }
  return std::move(draft_);
}

void Resolver::collect_levels() {
  std::map<std::string, const ast::LevelDefinition*> found;
  for (const std::size_t unit : program_.imports_first) {
    const std::vector<ast::Statement>& list = program_.units[unit].file.statements;
    for (const ast::Statement& s : list) {
      const ast::Setting* headless = &s == &list.back() ? nullptr : headless_level(s, *(&s + 1));
      if (headless != nullptr) lost_levels_.insert(headless->value.text);
      const auto* definition = std::get_if<ast::LevelDefinition>(&s.node);
      if (definition == nullptr) continue;
      const auto [it, fresh] = found.try_emplace(definition->name.text, definition);
      if (fresh) continue;
      auto& d =
          diagnostics_.error(codes::kDefinedTwice, "the level " + quote(definition->name.text) + " is defined twice")
              .at(definition->name.span, "here again")
              .also(it->second->name.span, "first here")
              .fix(definition->name.span.file == it->second->name.span.file
                       ? "join the two, or give one another name"
                       : "leave it out, or give it another name; to change one verdict of it, write override deny " +
                             definition->name.text + ": ...");
      show_imports(d, program_, unit_of(program_, d.span.file), unit_of(program_, it->second->name.span.file));
    }
  }
  if (found.size() > kMostLevels) {
    diagnostics_.error(codes::kBadNumber, "more than " + std::to_string(kMostLevels) + " levels are defined")
        .at(found.rbegin()->second->name.span)
        .fix("leave one out");
    while (found.size() > kMostLevels) found.erase(std::prev(found.end()));
  }
  for (const auto& [name, definition] : found) {  // in the order of their names
    Level level;
    level.name = name;
    level.span = definition->name.span;
    draft_.rules.levels.push_back(std::move(level));
  }
  levels_ = std::move(found);
}

std::optional<std::uint32_t> Resolver::level(const ast::Word& name) {
  if (const auto index = draft_.rules.level(name.text)) return index;
  if (program_.incomplete || names_.is_lost(name.text) || lost_levels_.contains(name.text)) return std::nullopt;
  std::vector<std::string> known;
  for (const Level& l : draft_.rules.levels) known.push_back(l.name);
  auto& d = diagnostics_.error(codes::kUnknownLevel, "no level is called " + quote(name.text)).at(name.span);
  if (!type_meant(name.text).empty() || elem_type(name.text) != ElemType::undefined || name.text == "fp8") {
    d.fix("the data types that a list may be for are fp16 and bf16");
    return std::nullopt;
  }
  suggest(d, name.text, known);
  if (known.empty()) {
    d.fix("levels are defined by rules: import the file that does, or write level " + name.text + " { default fp32 }");
  } else if (name.text.find('.') != std::string::npos) {
    d.fix("a domain and its operator are joined by '::'");
  } else if (names_.is_operator(name.text)) {
    d.fix("operators stand behind the ':', levels and data types before it: deny O1 fp16: " + name.text);
  } else {
    d.fix("levels that are defined: " + list_of(known, false, "and"));
  }
  return std::nullopt;
}

// `level O2` and `default low` behind it: the brace is missing.
const ast::Setting* Resolver::headless_level(const ast::Statement& s, const ast::Statement& next) {
  const auto* setting = std::get_if<ast::Setting>(&s.node);
  const bool level = setting != nullptr && setting->key.text == "level";
  return level && std::holds_alternative<ast::LevelPart>(next.node) ? setting : nullptr;
}

void Resolver::statements(const std::vector<ast::Statement>& list, const Context& context) {
  bool headless = false;
  for (const ast::Statement& s : list) {
    if (headless && std::holds_alternative<ast::LevelPart>(s.node)) continue;
    const bool last = &s == &list.back();
    const ast::Setting* level = last || context.level ? nullptr : headless_level(s, *(&s + 1));
    headless = level != nullptr;
    if (headless) {
      diagnostics_.error(codes::kExpected, "expected '{' after " + quote(level->value.text))
          .at(level->value.span)
          .fix("write level " + level->value.text + " { ... } for what the level is");
      continue;
    }
    std::visit([&](const auto& node) { this->statement(node, s, context); }, s.node);
  }
}

// Reports a statement that cannot stand in this context.
bool Resolver::only_in_file(const ast::Statement& s, const Context& context, std::string_view what) {
  if (context.inside.empty()) return true;
  if (context.open) return false;
  diagnostics_.error(codes::kMisplaced, std::string(what) + " cannot stand in " + std::string(context.inside))
      .at(s.keyword)
      .fix("move it out of the braces");
  return false;
}

bool Resolver::not_in_level(const ast::Statement& s, const Context& context, std::string_view what) {
  if (!context.level) return true;
  if (context.open) return false;
  diagnostics_.error(codes::kMisplaced, std::string(what) + " cannot stand in a level")
      .at(s.keyword)
      .fix("a level holds default, weights, off, lists and roles");
  return false;
}

void Resolver::statement(const ast::Version&, const ast::Statement& s, const Context& context) {
  only_in_file(s, context, "the version");
}

void Resolver::statement(const ast::Import&, const ast::Statement& s, const Context& context) {
  only_in_file(s, context, "an import");
}

void Resolver::statement(const ast::Alias&, const ast::Statement& s, const Context& context) {
  only_in_file(s, context, "an alias");
}

void Resolver::statement(const ast::Extern&, const ast::Statement& s, const Context& context) {
  only_in_file(s, context, "a declaration");
}

void Resolver::statement(const ast::Setting& n, const ast::Statement& s, const Context& context) {
  if (!not_in_level(s, context, "the setting " + quote(n.key.text))) return;
  const std::string& key = n.key.text;
  const SettingText* known = find_setting(key);
  if ((known == nullptr || !known->local) && !only_in_file(s, context, "the setting " + quote(key))) return;
  constexpr std::string_view kRewrite = "rewrite ";
  if (key.starts_with(kRewrite)) {
    const Span& place = n.key.span;
    const auto begin = place.end - static_cast<std::uint32_t>(key.size() - kRewrite.size());
    const ast::Word name{key.substr(kRewrite.size()), {place.file, begin, place.end}};
    if (!allowed(name, "'rewrite'", {"creators", "moved", "redundant"})) return;
  }
  if (key == "level") {
    if (!level(n.value)) return;
  } else if (!allowed(n.value, "the setting " + quote(key), values_of_setting(key))) {
    return;
  }
  draft_.settings.push_back({context.scope, n.key, n.value, context.unit});
}

bool Resolver::allowed(const ast::Word& word, const std::string& what, const std::vector<std::string>& values) {
  if (std::find(values.begin(), values.end(), word.text) != values.end()) return true;
  auto& d = diagnostics_.error(codes::kBadValue, what + " has no value " + quote(word.text)).at(word.span);
  if (const std::string meant(type_meant(word.text)); std::find(values.begin(), values.end(), meant) != values.end()) {
    d.at(word.span, "did you mean " + quote(meant) + "?").edit(word.span, meant);
  } else {
    suggest(d, word.text, values);
  }
  d.fix("it is " + list_of(values));
  return false;
}

// What stands after `keep` and `store`.
bool Resolver::is_fp32(const ast::Word& type) {
  if (type.text == "fp32") return true;
  auto& d =
      diagnostics_.error(codes::kBadValue, "only fp32 can be kept or stored, not " + quote(type.text)).at(type.span);
  if (type.text == "fp16" || type.text == "bf16") {
    d.fix("what a rule lowers to is the setting dtype: write 'keep fp32' for what is not to be lowered");
  } else {
    if (type_meant(type.text) == "fp32") {
      d.at(type.span, "did you mean 'fp32'?").edit(type.span, "fp32");
    } else {
      suggest(d, type.text, std::vector<std::string>{"fp32"});
    }
    if (d.label.empty()) d.fix("write 'fp32'");
  }
  return false;
}

std::optional<NamePattern> Resolver::pattern(const ast::Pattern& p) {
  constexpr std::string_view kRegex =
      "expressions are RE2's, without look-around and back-references; \\ takes the meaning of the letter behind it";
  std::string error;
  auto result = p.regex ? NamePattern::regex(p.text, &error) : NamePattern::glob(p.text, &error);
  if (!result) {
    diagnostics_
        .error(codes::kBadPattern,
               std::string("this is no ") + (p.regex ? "regular expression: " : "name pattern: ") + error)
        .at(p.span)
        .fix(p.regex ? std::string(kRegex) : glob_help(error));
  }
  return result;
}

void Resolver::statement(const ast::IoRule& n, const ast::Statement& s, const Context& context) {
  if (!only_in_file(s, context, "an io rule")) return;
  if (!allowed(n.value, "the setting 'io'", values_of_setting("io"))) return;
  for (const ast::Pattern& p : n.patterns) {
    if (auto one = pattern(p)) {
      draft_.rules.io.push_back({std::move(*one), n.value.text == "low" ? Io::low : Io::keep, p.span});
    }
  }
}

void Resolver::statement(const ast::LevelDefinition& n, const ast::Statement& s, const Context& context) {
  if (!only_in_file(s, context, "the definition of a level")) return;
  const auto index = draft_.rules.level(n.name.text);
  if (!index) return;
  const bool again = levels_.at(n.name.text) != &n;
  statements(n.body, {context.unit, kWholeModel, index, "a level", again, n.open});
}

void Resolver::statement(const ast::LevelPart& n, const ast::Statement& s, const Context& context) {
  if (!context.level) {
    diagnostics_.error(codes::kMisplaced, quote(n.key.text) + " stands in the definition of a level alone")
        .at(s.span)
        .fix("level O2 { " + n.key.text + (n.value.text.empty() ? "" : " " + n.value.text) + " }");
    return;
  }
  Level& level = draft_.rules.levels[*context.level];
  if (context.again) return;
  if (n.key.text == "off") {
    level.off = true;
  } else if (n.key.text == "default") {
    if (!allowed(n.value, "'default'", {"low", "fp32"})) return;
    level.default_low = n.value.text == "low";
  } else {
    if (!allowed(n.value, "'weights'", {"keep", "use", "low"})) return;
    level.weights = n.value.text == "keep"  ? Level::Weights::keep
                    : n.value.text == "use" ? Level::Weights::use
                                            : Level::Weights::low;
  }
  const auto [it, fresh] = level_parts_.try_emplace({*context.level, n.key.text}, &n);
  if (fresh) return;
  auto& d =
      n.value.text == it->second->value.text
          ? diagnostics_.warning(codes::kDuplicate, "the level has said " + quote(n.key.text) + " already")
          : diagnostics_.error(codes::kSettingTwice, "the level says " + quote(n.key.text) + " twice, with two values");
  d.at(s.span).also(it->second->key.span, "first here").fix("leave one of the two out");
  if (d.code == codes::kDuplicate) edit_out(d, program_, s.span);
}

Draft resolve(const Program& program, const Names& names, Diagnostics& diagnostics) {
  return Resolver(program, names, diagnostics).run();
}

}  // namespace ampc::lang
