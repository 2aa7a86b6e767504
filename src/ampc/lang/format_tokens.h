// A text as the formatter and the language server see it: tokens with the comments and blank lines between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/diag/diagnostic.h"

namespace ampc::lang::layout {

struct Comment {
  std::string text;    // from '#' or '///', without blanks at its end
  bool alone = false;  // on a line of its own
  bool after_blank = false;
};

struct Token {
  std::size_t type = 0;  // of the lexer
  std::string text;
  std::uint32_t begin = 0;        // in the file
  std::vector<Comment> comments;  // between the token before and this one
  bool after_blank = false;       // a blank line stands directly before it
  bool new_line = false;          // it does not stand on the line on which the token before ends
};

/// All tokens; the last one is the end of the file.
std::vector<Token> tokens_of(FileId file, std::string_view text);

enum class Kind : std::uint8_t {
  statement,
  declaration,  // `extern`: `<` and `>` enclose attributes
  step,         // of a pattern: its alternatives are its largest parts
};

/// Whether a space stands between tokens[at - 1] and tokens[at], of one statement.
bool spaced(const std::vector<Token>& tokens, std::size_t at, Kind kind);

/// Whether a long statement may go on in the next line with tokens[at], which stands `deep` parentheses deep, and
/// whether it has to (`where`).
bool may_break(const std::vector<Token>& tokens, std::size_t at, int deep);
bool has_to_break(const std::vector<Token>& tokens, std::size_t at, Kind kind);

/// How much deeper in parentheses the text is behind the token: 1, 0 or -1.
int nesting(const Token& token, Kind kind);

}  // namespace ampc::lang::layout
