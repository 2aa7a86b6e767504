#include "ampc/lang/doc_page.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace ampc::lang {
namespace {

enum class Section : std::uint8_t {
  imports,
  settings,
  levels,
  lists,
  roles,
  names,
  scopes,
  patterns,
  aliases,
  externs,
  facts,
  training,
  none,
};
constexpr std::array<std::string_view, static_cast<std::size_t>(Section::none)> kTitles = {"Imports",
                                                                                           "Settings",
                                                                                           "Levels",
                                                                                           "Lists",
                                                                                           "Roles",
                                                                                           "Values, nodes and weights",
                                                                                           "Scopes and blocks",
                                                                                           "Patterns",
                                                                                           "Aliases",
                                                                                           "Declarations of operators",
                                                                                           "Facts of operators",
                                                                                           "Training"};

struct SectionOf {
  Section operator()(const ast::Version&) const { return Section::none; }
  Section operator()(const ast::LevelPart&) const { return Section::none; }  // in a level alone
  Section operator()(const ast::Import&) const { return Section::imports; }
  Section operator()(const ast::Setting&) const { return Section::settings; }
  Section operator()(const ast::LevelDefinition&) const { return Section::levels; }
  Section operator()(const ast::List&) const { return Section::lists; }
  Section operator()(const ast::Role&) const { return Section::roles; }
  Section operator()(const ast::IoRule&) const { return Section::names; }
  Section operator()(const ast::NameRule&) const { return Section::names; }
  Section operator()(const ast::WeightCondition&) const { return Section::names; }
  Section operator()(const ast::Scope&) const { return Section::scopes; }
  Section operator()(const ast::Block&) const { return Section::scopes; }
  Section operator()(const ast::GraphPattern&) const { return Section::patterns; }
  Section operator()(const ast::Alias&) const { return Section::aliases; }
  Section operator()(const ast::Extern&) const { return Section::externs; }
  Section operator()(const ast::Fact&) const { return Section::facts; }
  Section operator()(const ast::Optimizer&) const { return Section::training; }
  Section operator()(const ast::Backward&) const { return Section::training; }
};

/// What has a name gets a heading of its own.
struct HeadingOf {
  std::string operator()(const ast::LevelDefinition& n) const { return n.name.text; }
  std::string operator()(const ast::GraphPattern& n) const { return n.name.text; }
  std::string operator()(const ast::Extern& n) const {
    return n.op.domain.empty() ? n.op.name : n.op.domain + "::" + n.op.name;
  }
  template <typename T>
  std::string operator()(const T&) const {
    return {};
  }
};

class Page {
 public:
  Page(const ast::File& file, const SourceMap& sources, const DocLinks& links)
      : file_(file), sources_(sources), links_(links) {}

  std::string run() {
    text_ = fmt::format("# {}\n", links_.name);
    for (const ast::Statement& s : file_.statements) {
      if (std::holds_alternative<ast::Version>(s.node) && !s.doc.empty()) text_ += "\n" + s.doc + "\n";
    }
    for (std::size_t i = 0; i < kTitles.size(); ++i) section(static_cast<Section>(i));
    return std::move(text_);
  }

 private:
  void section(Section which) {
    std::vector<const ast::Statement*> list;
    for (const ast::Statement& s : file_.statements) {
      if (std::visit(SectionOf(), s.node) == which) list.push_back(&s);
    }
    if (list.empty()) return;
    text_ += fmt::format("\n## {}\n", kTitles[static_cast<std::size_t>(which)]);
    for (const ast::Statement* s : list) statement(*s);
  }

  void statement(const ast::Statement& s) {
    const std::string heading = std::visit(HeadingOf(), s.node);
    const std::uint32_t line = sources_.position(s.span.file, s.span.begin).line;
    if (!heading.empty()) text_ += fmt::format("\n### `{}`\n", heading);
    if (!s.doc.empty()) text_ += "\n" + s.doc + "\n";
    if (const auto* import = std::get_if<ast::Import>(&s.node)) {
      const std::string page = links_.page(import->path.text);
      if (!page.empty()) text_ += fmt::format("\n[{}](<{}>)\n", import->path.text, page);
    }
    text_ += fmt::format("\n```\n{}\n```\n\n[{}:{}](<{}#L{}>)\n", source(s.span), links_.name, line, links_.file, line);
  }

  std::string source(const Span& span) const {
    return std::string(sources_.text(span.file).substr(span.begin, span.end - span.begin));
  }

  const ast::File& file_;
  const SourceMap& sources_;
  const DocLinks& links_;
  std::string text_;
};

}  // namespace

std::string doc_page(const ast::File& file, const SourceMap& sources, const DocLinks& links) {
  return Page(file, sources, links).run();
}

}  // namespace ampc::lang
