// What stands around a place in a text, by its tokens alone: a statement that is being written does not parse yet.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/lang/format_tokens.h"

namespace ampc::lsp {

using lang::layout::Token;

struct Context {
  std::vector<std::string> statement;  // its tokens before the word at the cursor
  /// Heads of the bodies around it, the innermost last: "scope", "block", "level", "pattern".
  std::vector<std::string> enclosing;
  std::vector<std::string> pattern;  // within a pattern: its tokens so far
  std::size_t word = 0;              // where the word at the cursor begins, in bytes; the cursor where there is none
  bool in_comment = false;
  /// Within a string: its text up to the cursor.
  std::optional<std::string> string;

  std::string_view head() const { return statement.empty() ? std::string_view() : statement.front(); }
  std::string_view last() const { return statement.empty() ? std::string_view() : statement.back(); }
  bool has(std::string_view token) const;
  bool inside(std::string_view body) const { return !enclosing.empty() && enclosing.back() == body; }
  /// Parentheses that are open.
  int depth() const;
};

Context context_at(std::string_view text, std::size_t offset);

/// A name or keyword, a domain before it: "com.microsoft::Gelu".
bool is_word(std::string_view token);

/// The token on which the offset stands, or which ends there; nullptr where there is none. The last token is the end of
/// the file.
const Token* token_at(const std::vector<Token>& tokens, std::size_t offset);

}  // namespace ampc::lsp
