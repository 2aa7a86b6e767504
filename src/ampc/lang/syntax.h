// Between text and syntax tree: tokens with byte offsets, and syntax errors in the language's own terms.
// Private to the front end's parser; the only headers that know ANTLR are this one and its users' sources.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "AmpLexer.h"
#include "AmpParser.h"
#include "ampc/diag/diagnostic.h"

namespace ampc::lang::syntax {

using ampc_grammar::AmpLexer;
using ampc_grammar::AmpParser;

/// Byte spans of tokens; the runtime counts code points.
class Places {
 public:
  Places(FileId file, std::string_view text);
  Span of(const antlr4::Token* token) const;
  /// From the first token's begin to the last one's end.
  Span of(const antlr4::Token* first, const antlr4::Token* last) const;
  Span of(const antlr4::ParserRuleContext* tree) const;
  FileId file() const { return file_; }

 private:
  std::uint32_t offset(std::size_t code_point) const;
  FileId file_;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> offsets_;  // of each code point; empty where all are ASCII
};

/// Lines where a fault was reported already: a syntax error there would be about the same slip.
using FaultyLines = std::set<std::size_t>;

/// Reports what is wrong in the letters, and mends `text` where it is plain what was meant, its length unchanged. True
/// where it is to be read again.
bool mend(std::string& text, antlr4::CommonTokenStream& tokens, const Places& places, Diagnostics& diagnostics,
          FaultyLines& faulty);

/// Reports what no parser needs to see (stray characters, strings that are not closed, comments in other languages'
/// style) and hides or mends those tokens. False where brackets nest too deeply to parse.
bool check_tokens(antlr4::CommonTokenStream& tokens, const Places& places, Diagnostics& diagnostics,
                  FaultyLines& faulty);

/// Reports a syntax error once, gives up the statement it is in, and goes on at the next one.
class StatementRecovery : public antlr4::DefaultErrorStrategy {
 public:
  StatementRecovery(const Places& places, Diagnostics& diagnostics, const FaultyLines& faulty)
      : places_(places), diagnostics_(diagnostics), faulty_(faulty) {}

  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) override;
  void recover(antlr4::Parser* parser, std::exception_ptr e) override;
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void sync(antlr4::Parser* parser) override;

  /// Tokens that were taken for the end of a statement and are the head of the next: the first one is incomplete.
  const std::set<std::size_t>& given_back() const { return given_back_; }

 private:
  void skip_to_statement(antlr4::Parser* parser);
  static void leave_pattern(antlr4::Parser* parser);
  static void edit(antlr4::Parser* parser, Diagnostic& d);
  bool report_headless_role(antlr4::Parser* parser);
  void report_in_line(const antlr4::Token* head, const antlr4::Token* before, const antlr4::Token* before_that);
  bool begins_statement(antlr4::TokenStream* input) const;
  void tell_unexpected(antlr4::TokenStream* input);
  bool give_back_head(antlr4::Parser* parser, std::string_view missing);

  const Places& places_;
  Diagnostics& diagnostics_;
  const FaultyLines& faulty_;
  std::set<std::size_t> given_back_;
  FaultyLines told_;           // lines with a fault that was reported here
  std::size_t last_ = 0;       // the token that the last report was about
  bool end_reported_ = false;  // the file's end was unexpected: said once
};

/// What the grammar would take at the parser's present place, in words: "an operand number or name".
std::string expectation(antlr4::Parser* parser, const antlr4::RecognitionException& e);

/// Values that may stand behind a word of the language: "'fp16' or 'bf16'" behind `dtype`.
std::string values_after(const std::string& word);

/// What to write instead of the token that is not taken; empty where the expectation says it all.
std::string advice(antlr4::Parser* parser, const antlr4::RecognitionException& e);

/// What to write instead of the next token, which stands behind a complete statement.
std::string advice_behind(antlr4::TokenStream* input);

/// What statements begin with.
inline constexpr const char* kStatements =
    "statements begin with allow, deny, follow, ... or with an operator and 'arg' or 'result': MatMul arg 1 keep fp32";

/// Words that begin a statement.
const std::vector<std::string_view>& statement_words();

}  // namespace ampc::lang::syntax
