// The quick lexer against the grammar's own, token by token.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "ampc/lang/quick_lexer.h"

namespace ampc::lang::syntax {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> tokens_of(antlr4::Lexer& lexer) {
  lexer.removeErrorListeners();
  std::vector<std::string> result;
  for (const auto& token : lexer.getAllTokens()) result.push_back(token->toString());
  return result;
}

void expect_same(const std::string& text) {
  antlr4::ANTLRInputStream input(text);
  AmpLexer grammar(&input);
  Letters letters(text);
  QuickLexer quick(letters);
  EXPECT_EQ(tokens_of(quick), tokens_of(grammar)) << text;
}

TEST(QuickLexer, ReadsRuleFilesAsTheGrammarDoes) {
  int files = 0;
  for (const char* folder : {"rules", "examples", "tests/golden"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(AMPC_SOURCE_DIR) / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      try {
        expect_same(text.str());
      } catch (const std::range_error&) {
        continue;  // no UTF-8, which is found out before
      }
      ++files;
    }
  }
  EXPECT_GT(files, 50);
}

TEST(QuickLexer, ReadsWhateverElseAsTheGrammarDoes) {
  const std::vector<std::string> pieces = {"amp",
                                           "deny",
                                           "denying",
                                           "Conv",
                                           "a.b",
                                           "a.b::C",
                                           "a::b.c...",
                                           "x...",
                                           "x..",
                                           "..",
                                           "::",
                                           ":",
                                           "=",
                                           "==",
                                           "=>",
                                           "->",
                                           "-",
                                           "-3",
                                           "3.5e-",
                                           "1e9%",
                                           "%",
                                           "\"a b\"",
                                           "\"",
                                           "\"\\\"",
                                           "'",
                                           "\\",
                                           "/a+/",
                                           "/",
                                           "//c",
                                           "/*c",
                                           "*/",
                                           "*",
                                           "<",
                                           "<=",
                                           ">=",
                                           ">",
                                           "!",
                                           "!=",
                                           "|",
                                           "(",
                                           ")",
                                           "[",
                                           "]",
                                           "{",
                                           "}",
                                           ",",
                                           "?",
                                           " ",
                                           "\t",
                                           "\r",
                                           "\n",
                                           "\r\n",
                                           "# c",
                                           "/// c",
                                           "///",
                                           "////",
                                           "é",
                                           "\xF0\x9F\x99\x82",
                                           "_",
                                           "0",
                                           ";",
                                           "&",
                                           std::string(1, '\0')};
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (std::size_t count = 1 + below(12); count != 0; --count) text += pieces[below(pieces.size())];
    expect_same(text);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace ampc::lang::syntax
