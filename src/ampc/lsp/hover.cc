// textDocument/hover: what the word under the cursor is.
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "ampc/lsp/context.h"
#include "ampc/lsp/feature.h"
#include "ampc/lsp/operator_text.h"
#include "ampc/lsp/words.h"

namespace ampc::lsp {
namespace {

namespace ast = lang::ast;

std::string code(const std::string& text) { return "```amp\n" + text + (text.ends_with('\n') ? "```\n" : "\n```\n"); }

/// The `///` comment directly above a statement, without its marks; where there is none, the `#` comment there.
std::string comment_above(std::string_view text, std::size_t statement) {
  std::vector<std::string> lines;
  std::size_t begin = text.rfind('\n', statement == 0 ? 0 : statement - 1);
  std::string_view mark;
  while (begin != std::string_view::npos && begin != 0) {
    const std::size_t before = text.rfind('\n', begin - 1);
    const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
    std::string_view line = text.substr(from, begin - from);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (mark.empty()) mark = line.starts_with("///") ? "///" : "#";
    if (!line.starts_with(mark)) break;
    line.remove_prefix(mark.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    lines.insert(lines.begin(), std::string(line));
    begin = before;
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

class Hover {
 public:
  explicit Hover(const Cursor& cursor) : cursor_(cursor), view_(cursor.view) {}

  Json run() {
    const std::vector<Token> tokens = lang::layout::tokens_of(kRootFile, view_.document.text);
    const Token* token = token_at(tokens, cursor_.offset);
    if (token == nullptr || !is_word(token->text)) return nullptr;
    const lang::Unit* root = view_.meaning.root();
    std::string text = root == nullptr ? std::string() : operand(root->file.statements, *token);
    if (text.empty()) text = declared(token->text);
    if (text.empty()) text = operators(token->text);
    if (text.empty()) text = word(tokens, *token);
    if (text.empty()) return nullptr;
    return {{"contents", {{"kind", "markdown"}, {"value", text}}},
            {"range", view_.lines.range(token->begin, token->begin + token->text.size())}};
  }

 private:
  /// Of a role whose operand this is.
  std::string operand(const std::vector<ast::Statement>& statements, const Token& token) {
    for (const ast::Statement& s : statements) {
      if (s.span.begin > token.begin || token.begin >= s.span.end) continue;
      if (const auto* n = std::get_if<ast::Scope>(&s.node)) return operand(n->body, token);
      if (const auto* n = std::get_if<ast::Block>(&s.node)) return operand(n->body, token);
      if (const auto* n = std::get_if<ast::LevelDefinition>(&s.node)) return operand(n->body, token);
      const auto* role = std::get_if<ast::Role>(&s.node);
      if (role == nullptr) return {};
      for (const ast::Operand& o : role->operands.list) {
        if (o.span.begin != token.begin) continue;
        std::string text;
        for (const ast::Op& op : role->ops) {
          for (const lang::Target& t : targets(op)) {
            const auto formal = lang::Names::formal(t, o.name, role->results);
            if (formal && t.known()) text += operand_text(t.versions, *formal, role->results);
          }
        }
        return text;
      }
      return {};
    }
    return {};
  }

  std::vector<lang::Target> targets(const ast::Op& op) const { return view_.meaning.names->operators(op); }

  /// An alias, a level, a pattern or a declared operator of this name, with its comment.
  std::string declared(const std::string& name) {
    std::string text;
    for (const lang::Unit& unit : view_.meaning.program.units) {
      for (const ast::Statement& s : unit.file.statements) {
        const auto* alias = std::get_if<ast::Alias>(&s.node);
        const auto* level = std::get_if<ast::LevelDefinition>(&s.node);
        const auto* pattern = std::get_if<ast::GraphPattern>(&s.node);
        const auto* declaration = std::get_if<ast::Extern>(&s.node);
        const bool is = (alias != nullptr && alias->name.text == name) ||
                        (level != nullptr && level->name.text == name) ||
                        (pattern != nullptr && pattern->name.text == name && pattern->action.text != "off") ||
                        (declaration != nullptr &&
                         lang::spelling(lang::OpName{declaration->op.domain, declaration->op.name}) == name);
        if (!is) continue;
        text += code(ast::print(s));
        const std::string comment = comment_above(view_.meaning.sources.text(s.span.file), s.span.begin);
        if (!comment.empty()) text += "\n" + comment + "\n";
        text += fmt::format("\n{}\n", where(s.span));
        if (alias == nullptr) continue;
        for (const ast::AliasTarget& t : alias->targets)
          text += "\n" + operators(lang::spelling({t.op.domain, t.op.name}));
      }
    }
    return text;
  }

  std::string where(const Span& span) const {
    const SourceMap& sources = view_.meaning.sources;
    return fmt::format("{}, line {}", sources.path(span.file), sources.position(span.file, span.begin).line);
  }

  std::string operators(const std::string& name) {
    const std::size_t colons = name.find("::");
    std::string domain = colons == std::string::npos ? std::string() : name.substr(0, colons);
    if (domain == "ai.onnx") domain.clear();
    const std::string bare = colons == std::string::npos ? name : name.substr(colons + 2);
    const auto versions = view_.meaning.operators->versions(domain, bare);
    if (versions.empty()) return {};
    std::string lists;
    for (const lang::Unit& unit : view_.meaning.program.units) lists += lists_of(unit.file.statements, domain, bare);
    return operator_text(versions) + (lists.empty() ? "" : "\nListed\n\n" + lists);
  }

  /// The lists that name the operator.
  std::string lists_of(const std::vector<ast::Statement>& statements, const std::string& domain,
                       const std::string& name) const {
    std::string text;
    for (const ast::Statement& s : statements) {
      const auto* list = std::get_if<ast::List>(&s.node);
      if (list == nullptr) continue;
      for (const ast::Op& op : list->ops) {
        if (op.name != name || op.domain != domain) continue;
        std::vector<std::string> when;
        for (const auto* words : {&list->qualifiers.levels, &list->qualifiers.dtypes}) {
          for (const ast::Word& w : *words) when.push_back(w.text);
        }
        text +=
            fmt::format("- `{}{}{}{}{}{}`: {}\n", list->standing.overriding ? "override " : "",
                        list->standing.sealed ? "sealed " : "", ast::spelling(list->verdict), when.empty() ? "" : " ",
                        fmt::join(when, ", "), list->where ? " where " + ast::print(*list->where) : "", where(op.span));
      }
    }
    return text;
  }

  /// A word of the language: a setting's value is one behind its setting alone.
  static std::string word(const std::vector<Token>& tokens, const Token& token) {
    const auto at = static_cast<std::size_t>(&token - tokens.data());
    std::string_view before = at > 0 ? std::string_view(tokens[at - 1].text) : std::string_view();
    std::string key(before);
    if (at > 1 && (tokens[at - 2].text == "rewrite" || tokens[at - 2].text == "on"))
      key = tokens[at - 2].text + " " + key;
    if (const Setting* s = find_setting(key)) {
      for (const Word& v : s->values) {
        if (v.word == token.text) return fmt::format("**{} {}**\n\n{}\n", s->key, v.word, v.meaning);
      }
    }
    for (const std::string& two :
         {token.text + " " + (at + 1 < tokens.size() ? tokens[at + 1].text : ""), key + " " + token.text}) {
      if (const Setting* s = find_setting(two)) return fmt::format("**{}**\n\n{}\n", s->key, s->meaning);
    }
    const std::string_view meaning = meaning_of(token.text);
    return meaning.empty() ? std::string() : fmt::format("**{}**\n\n{}\n", token.text, meaning);
  }

  const Cursor& cursor_;
  const View& view_;
};

}  // namespace

Json hover(const Cursor& cursor) { return Hover(cursor).run(); }

}  // namespace ampc::lsp
