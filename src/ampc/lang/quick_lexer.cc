#include "ampc/lang/quick_lexer.h"

#include <algorithm>
#include <utility>

namespace ampc::lang::syntax {

namespace {

bool begins_word(char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || c == U'_'; }
bool in_word(char32_t c) { return begins_word(c) || (c >= U'0' && c <= U'9') || c == U'.'; }
bool is_space(char32_t c) { return c == U' ' || c == U'\t' || c == U'\r' || c == U'\n'; }
bool ends_line(char32_t c) { return c == U'\r' || c == U'\n'; }

constexpr std::size_t kLongestLiteral = 15;

/// Words and signs that the grammar writes out, and their types.
const std::unordered_map<std::string, std::size_t>& literals(const AmpLexer& lexer) {
  static const auto types = [&] {
    const antlr4::dfa::Vocabulary& names = lexer.getVocabulary();
    std::unordered_map<std::string, std::size_t> result;
    for (std::size_t type = 1; type <= names.getMaxTokenType(); ++type) {
      const std::string quoted = names.getLiteralName(type);
      if (quoted.size() > 2) result.emplace(quoted.substr(1, quoted.size() - 2), type);
    }
    return result;
  }();
  return types;
}

}  // namespace

QuickLexer::QuickLexer(Letters& letters)
    : AmpLexer(&letters),
      letters_(letters),
      text_(letters.all()),
      automaton_(*getInterpreter<antlr4::atn::LexerATNSimulator>()),
      literals_(literals(*this)) {}

std::unique_ptr<antlr4::Token> QuickLexer::nextToken() {
  skip_spaces();
  const std::size_t begin = letters_.place();
  std::unique_ptr<antlr4::Token> token;
  if (begin < text_.size()) {
    token = begins_word(text_[begin]) ? word(begin) : text_[begin] == U'"' ? string(begin) : sign(begin);
  }
  return token ? std::move(token) : AmpLexer::nextToken();
}

void QuickLexer::skip_spaces() {
  std::size_t end = letters_.place();
  const auto documents = [&] {
    return at(end) == U'/' && at(end + 1) == U'/' && at(end + 2) == U'/' && at(end + 3) != U'/';
  };
  for (;;) {
    if (at(end) == U'#' || documents()) {
      while (end < text_.size() && !ends_line(text_[end])) ++end;
    } else if (is_space(at(end))) {
      ++end;
    } else {
      break;
    }
  }
  advance(end);
}

void QuickLexer::advance(std::size_t end) {
  const std::size_t begin = letters_.place();
  const std::u32string_view passed = text_.substr(begin, end - begin);
  std::size_t column = automaton_.getCharPositionInLine() + passed.size();
  if (const std::size_t last = passed.rfind(U'\n'); last != std::u32string_view::npos) {
    std::size_t line = automaton_.getLine();
    for (const char32_t c : passed) line += c == U'\n' ? 1 : 0;
    automaton_.setLine(line);
    column = passed.size() - last - 1;
  }
  automaton_.setCharPositionInLine(column);
  letters_.move_to(end);
}

std::unique_ptr<antlr4::Token> QuickLexer::take(std::size_t type, std::size_t end) {
  const std::size_t begin = letters_.place(), line = automaton_.getLine(), column = automaton_.getCharPositionInLine();
  advance(end);
  return _factory->create({this, _input}, type, std::string(), antlr4::Token::DEFAULT_CHANNEL, begin, end - 1, line,
                          column);
}

std::size_t QuickLexer::word_end(std::size_t begin) const {
  while (begin < text_.size() && in_word(text_[begin])) ++begin;
  return begin;
}

std::unique_ptr<antlr4::Token> QuickLexer::word(std::size_t begin) {
  const std::size_t end = word_end(begin);
  if (at(end) == U':' && at(end + 1) == U':' && begins_word(at(end + 2))) return take(QNAME, word_end(end + 2));
  const std::u32string_view letters = text_.substr(begin, end - begin);
  if (letters.size() > 3 && letters.ends_with(U"...")) return take(VARIADIC, end);
  if (letters.size() <= kLongestLiteral) {
    const std::string ascii(letters.begin(), letters.end());
    if (const auto it = literals_.find(ascii); it != literals_.end()) return take(it->second, end);
  }
  return take(ID, end);
}

std::unique_ptr<antlr4::Token> QuickLexer::string(std::size_t begin) {
  for (std::size_t i = begin + 1; i < text_.size() && !ends_line(text_[i]) && text_[i] != U'\\'; ++i) {
    if (text_[i] == U'"') return take(STRING, i + 1);
  }
  return nullptr;
}

std::unique_ptr<antlr4::Token> QuickLexer::sign(std::size_t begin) {
  const char32_t first = text_[begin];
  if (first == U'-' && at(begin + 1) != U'>') return nullptr;  // a number
  for (std::size_t length = 2; length != 0; --length) {
    std::string ascii;
    for (std::size_t i = begin; i < std::min(begin + length, text_.size()); ++i) {
      if (text_[i] < 0x7f) ascii.push_back(static_cast<char>(text_[i]));
    }
    if (ascii.size() != length) continue;
    if (const auto it = literals_.find(ascii); it != literals_.end()) return take(it->second, begin + length);
  }
  return nullptr;
}

}  // namespace ampc::lang::syntax
