// textDocument/documentSymbol: the statements of a file, those in bodies below their heads.
#include <variant>
#include <vector>

#include "ampc/lang/ast.h"
#include "ampc/lsp/feature.h"

namespace ampc::lsp {
namespace {

namespace ast = lang::ast;

// Of SymbolKind.
constexpr int kModule = 2, kNamespace = 3, kClass = 5, kProperty = 7, kEnum = 10, kFunction = 12, kConstant = 14,
              kObject = 19, kOperator = 25;

/// The head of a statement on one line, not longer than a list of symbols shows.
std::string head_of(const ast::Statement& s) {
  constexpr std::size_t kLongest = 72;
  std::string text = ast::print(s);
  text = text.substr(0, text.find_first_of("\n{"));
  while (text.ends_with(' ')) text.pop_back();
  if (text.size() <= kLongest) return text;
  std::size_t end = kLongest;
  while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;  // between code points
  return text.substr(0, end) + "…";
}

struct Symbol {
  int kind;
  std::string name;  // empty: the statement's head
  Span selected;     // where not valid, the statement's first word
  const std::vector<ast::Statement>* body = nullptr;
};

struct Describe {
  Symbol operator()(const ast::Import& n) const { return {kModule, n.path.text, n.path.span}; }
  Symbol operator()(const ast::LevelDefinition& n) const { return {kEnum, n.name.text, n.name.span, &n.body}; }
  Symbol operator()(const ast::Alias& n) const { return {kFunction, n.name.text, n.name.span}; }
  Symbol operator()(const ast::Extern& n) const {
    return {kClass, lang::spelling(lang::OpName{n.op.domain, n.op.name}), n.op.span};
  }
  Symbol operator()(const ast::GraphPattern& n) const { return {kFunction, n.name.text, n.name.span}; }
  Symbol operator()(const ast::Scope& n) const { return {kNamespace, {}, {}, &n.body}; }
  Symbol operator()(const ast::Block& n) const { return {kNamespace, {}, {}, &n.body}; }
  Symbol operator()(const ast::Version&) const { return {kConstant, {}, {}}; }
  Symbol operator()(const ast::Setting&) const { return {kProperty, {}, {}}; }
  Symbol operator()(const ast::LevelPart&) const { return {kProperty, {}, {}}; }
  Symbol operator()(const ast::NameRule&) const { return {kObject, {}, {}}; }
  Symbol operator()(const ast::WeightCondition&) const { return {kObject, {}, {}}; }
  template <typename Other>
  Symbol operator()(const Other&) const {
    return {kOperator, {}, {}};
  }
};

Json symbols(const std::vector<ast::Statement>& statements, const Lines& lines) {
  Json result = Json::array();
  for (const ast::Statement& s : statements) {
    const Symbol symbol = std::visit(Describe(), s.node);
    // Clients refuse a selection beyond the whole.
    const bool inside =
        symbol.selected.valid() && symbol.selected.begin >= s.span.begin && symbol.selected.end <= s.span.end;
    const Span& selected = inside ? symbol.selected : s.keyword;
    Json one = {{"name", symbol.name.empty() ? head_of(s) : symbol.name},
                {"kind", symbol.kind},
                {"range", lines.range(s.span.begin, s.span.end)},
                {"selectionRange", lines.range(selected.begin, selected.end)}};
    if (!symbol.name.empty()) one["detail"] = head_of(s);
    if (symbol.body != nullptr) one["children"] = symbols(*symbol.body, lines);
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace

Json document_symbols(const View& view) {
  const lang::Unit* unit = view.meaning.root();
  return unit == nullptr ? Json::array() : symbols(unit->file.statements, view.lines);
}

}  // namespace ampc::lsp
