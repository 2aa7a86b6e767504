// textDocument/definition: where a name comes from, in this file or in one that it imports.
#include <filesystem>
#include <variant>
#include <vector>

#include "ampc/lsp/context.h"
#include "ampc/lsp/feature.h"

namespace ampc::lsp {
namespace {

namespace ast = lang::ast;

class Definition {
 public:
  explicit Definition(const Cursor& cursor) : cursor_(cursor), view_(cursor.view) {}

  Json run() {
    const lang::Unit* root = view_.meaning.root();
    if (root == nullptr) return result_;
    const std::vector<Token> tokens = lang::layout::tokens_of(kRootFile, view_.document.text);
    const Token* token = token_at(tokens, cursor_.offset);
    if (token == nullptr) return result_;
    if (in_statement(root->file.statements, *token)) return result_;
    if (is_word(token->text)) named(token->text);
    return result_;
  }

 private:
  void add(const Span& span) {
    const SourceMap& sources = view_.meaning.sources;
    const std::string& path = sources.path(span.file);
    const Lines lines = view_.documents.lines(path, sources.text(span.file));
    Json one = {{"uri", view_.documents.uri(path)}, {"range", lines.range(span.begin, span.end)}};
    result_.push_back(std::move(one));
  }

  static bool holds(const Span& span, std::size_t at) { return span.valid() && span.begin <= at && at <= span.end; }

  /// What only the statement around the cursor knows: an import's file, names within a pattern or an alias.
  bool in_statement(const std::vector<ast::Statement>& statements, const Token& token) {
    for (const ast::Statement& s : statements) {
      if (!holds(s.span, cursor_.offset)) continue;
      if (const auto* import = std::get_if<ast::Import>(&s.node);
          import != nullptr && holds(import->path.span, token.begin)) {
        file(import->path.text);
        return true;
      }
      if (const auto* n = std::get_if<ast::Scope>(&s.node)) return in_statement(n->body, token);
      if (const auto* n = std::get_if<ast::Block>(&s.node)) return in_statement(n->body, token);
      if (const auto* n = std::get_if<ast::LevelDefinition>(&s.node)) return in_statement(n->body, token);
      if (const auto* n = std::get_if<ast::GraphPattern>(&s.node)) return in_pattern(*n, token.text);
      if (const auto* n = std::get_if<ast::Extern>(&s.node)) return in_declaration(*n, token.text);
      if (const auto* n = std::get_if<ast::Alias>(&s.node)) return first_of(n->parameters, token.text);
    }
    return false;
  }

  void file(const std::string& text) {
    for (const std::string& path : lang::import_candidates(view_.document.path, text, view_.options)) {
      std::error_code error;
      if (!std::filesystem::exists(path, error) && view_.documents.with_path(path) == nullptr) continue;
      result_.push_back({{"uri", view_.documents.uri(path)}, {"range", Lines("", view_.encoding).range(0, 0)}});
      return;
    }
  }

  bool first_of(const std::vector<ast::Word>& words, const std::string& name) {
    for (const ast::Word& w : words) {
      if (w.text != name) continue;
      add(w.span);
      return true;
    }
    return false;
  }

  bool in_pattern(const ast::GraphPattern& n, const std::string& name) {
    if (first_of(n.parameters, name)) return true;
    for (const ast::GraphPattern::Step& step : n.steps) {
      if (first_of(step.results, name)) return true;
    }
    return false;
  }

  bool in_declaration(const ast::Extern& n, const std::string& name) {
    for (const ast::TypeVariable& v : n.types) {
      if (v.name.text != name) continue;
      add(v.name.span);
      return true;
    }
    return false;
  }

  /// Levels, aliases, patterns and declared operators of all units.
  void named(const std::string& name) {
    for (const lang::Unit& unit : view_.meaning.program.units) {
      for (const ast::Statement& s : unit.file.statements) {
        if (const auto* n = std::get_if<ast::LevelDefinition>(&s.node); n != nullptr && n->name.text == name)
          add(n->name.span);
        if (const auto* n = std::get_if<ast::Alias>(&s.node); n != nullptr && n->name.text == name) add(n->name.span);
        if (const auto* n = std::get_if<ast::GraphPattern>(&s.node);
            n != nullptr && n->name.text == name && !(n->standing.overriding && n->action.text == "off"))
          add(n->name.span);
        if (const auto* n = std::get_if<ast::Extern>(&s.node);
            n != nullptr && lang::spelling(lang::OpName{n->op.domain, n->op.name}) == name)
          add(n->op.span);
      }
    }
  }

  const Cursor& cursor_;
  const View& view_;
  Json result_ = Json::array();
};

}  // namespace

Json definition(const Cursor& cursor) { return Definition(cursor).run(); }

}  // namespace ampc::lsp
