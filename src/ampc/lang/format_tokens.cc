#include "ampc/lang/format_tokens.h"

#include <algorithm>

#include "ampc/lang/syntax.h"

namespace ampc::lang::layout {
namespace {

using L = syntax::AmpLexer;

bool one_of(std::size_t type, std::initializer_list<std::size_t> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// A range's comma, `[1,3)`.
bool in_range(const std::vector<Token>& tokens, std::size_t comma) {
  return comma >= 2 && tokens[comma].type == L::COMMA && tokens[comma - 2].type == L::LBRACKET;
}

/// Blanks and comments between two tokens.
void read_gap(std::string_view gap, Token& next) {
  std::size_t newlines = 0;
  bool any = false;  // a newline since the token before
  for (std::size_t i = 0; i < gap.size(); ++i) {
    if (gap[i] == '\n') {
      ++newlines;
      any = true;
    } else if (gap[i] == '#' || gap[i] == '/') {
      const std::size_t end = std::min(gap.find_first_of("\r\n", i), gap.size());
      std::string_view text = gap.substr(i, end - i);
      text = text.substr(0, text.find_last_not_of(" \t") + 1);
      next.comments.push_back({std::string(text), any, newlines > 1});
      newlines = 0;
      i = end - 1;
    }
  }
  next.after_blank = newlines > 1;
  next.new_line = any;
}

}  // namespace

std::vector<Token> tokens_of(FileId file, std::string_view text) {
  const syntax::Places places(file, text);
  antlr4::ANTLRInputStream input(std::string{text});
  L lexer(&input);
  lexer.removeErrorListeners();
  std::vector<Token> result;
  std::uint32_t end = 0;
  for (;;) {
    const auto next = lexer.nextToken();
    const bool last = next->getType() == antlr4::Token::EOF;
    const Span place =
        last ? Span{file, static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(text.size())}
             : places.of(next.get());
    Token& token = result.emplace_back();
    token.type = next->getType();
    token.begin = place.begin;
    token.text = text.substr(place.begin, place.end - place.begin);
    read_gap(text.substr(end, place.begin - end), token);
    end = place.end;
    if (last) return result;
  }
}

bool spaced(const std::vector<Token>& tokens, std::size_t at, Kind kind) {
  const std::size_t before = tokens[at - 1].type;
  const std::size_t type = tokens[at].type;
  if (one_of(type, {L::COMMA, L::COLON, L::QUESTION, L::RPAREN}) || one_of(before, {L::LPAREN, L::LBRACKET}))
    return false;
  if (before == L::LBRACE && type == L::RBRACE) return false;
  if (before == L::COMMA) return !in_range(tokens, at - 1);
  if (kind == Kind::declaration) {
    if (type == L::LT || type == L::LPAREN) return one_of(before, {L::NUMBER, L::ARROW});
    if (before == L::LT || type == L::GT) return false;
  }
  if (type == L::LPAREN) {
    const bool alias = at >= 2 && tokens[at - 2].type == L::ALIAS;  // alias where(condition, x, y)
    return one_of(before, {L::AND, L::OR, L::NOT}) || (before == L::WHERE && !alias);
  }
  return true;
}

bool may_break(const std::vector<Token>& tokens, std::size_t at, int deep) {
  const std::size_t before = tokens[at - 1].type;
  if (before == L::COMMA) return !in_range(tokens, at - 1);
  if (before == L::ASSIGN) return deep == 0;
  return one_of(tokens[at].type, {L::WHERE, L::AND, L::OR, L::ARROW, L::BAR, L::ARG, L::RESULT, L::EXCEPT, L::KEEP,
                                  L::STORE, L::FOR, L::DOC});
}

bool has_to_break(const std::vector<Token>& tokens, std::size_t at, Kind kind) {
  if (kind == Kind::step) return tokens[at].type == L::BAR;
  // Where it is no operand's or alias' name.
  return tokens[at].type == L::WHERE &&
         !one_of(tokens[at - 1].type, {L::ALIAS, L::ARG, L::RESULT, L::EXCEPT, L::COMMA});
}

int nesting(const Token& token, Kind kind) {
  if (token.type == L::LPAREN || (kind == Kind::declaration && token.type == L::LT)) return 1;
  if (token.type == L::RPAREN || (kind == Kind::declaration && token.type == L::GT)) return -1;
  return 0;
}

}  // namespace ampc::lang::layout
