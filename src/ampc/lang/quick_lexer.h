// The grammar's lexer, quicker: plain tokens without its automaton, which every process would have to build first.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

/// Text of a rule file as code points, which a lexer may look at as a whole.
class Letters : public antlr4::ANTLRInputStream {
 public:
  explicit Letters(const std::string& text) : ANTLRInputStream(text) {}
  std::u32string_view all() const { return _data; }
  std::size_t place() const { return p; }
  void move_to(std::size_t place) { p = place; }
};

/// Gives the tokens that AmpLexer gives, place by place. Spaces, comments, words, signs and strings without an escape
/// are read here, by the literals of the grammar; numbers, regular expressions and whatever is wrong are left to
/// AmpLexer.
class QuickLexer : public AmpLexer {
 public:
  explicit QuickLexer(Letters& letters);
  std::unique_ptr<antlr4::Token> nextToken() override;

 private:
  void skip_spaces();
  void advance(std::size_t end);
  std::unique_ptr<antlr4::Token> take(std::size_t type, std::size_t end);
  std::size_t word_end(std::size_t begin) const;
  std::unique_ptr<antlr4::Token> word(std::size_t begin);
  std::unique_ptr<antlr4::Token> string(std::size_t begin);
  std::unique_ptr<antlr4::Token> sign(std::size_t begin);
  char32_t at(std::size_t place) const { return place < text_.size() ? text_[place] : U'\0'; }

  Letters& letters_;
  std::u32string_view text_;
  antlr4::atn::LexerATNSimulator& automaton_;  // keeps line and column
  const std::unordered_map<std::string, std::size_t>& literals_;
};

}  // namespace ampc::lang::syntax
