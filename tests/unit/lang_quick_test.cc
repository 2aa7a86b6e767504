// What reads rule files without a mistake, against ANTLR's lexer and parser: token by token, node by node.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "ampc/diag/utf8.h"
#include "ampc/lang/parse_quick.h"
#include "ampc/lang/parse_slow.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {
namespace {

namespace fs = std::filesystem;

std::string shown(T type, std::uint32_t begin, std::uint32_t end) {
  return std::to_string(static_cast<int>(type)) + " " + std::to_string(begin) + "-" + std::to_string(end);
}

std::vector<std::string> tokens_of_grammar(const std::string& text) {
  antlr4::ANTLRInputStream letters(text);
  AmpLexer lexer(&letters);
  lexer.removeErrorListeners();
  const Places places(0, text);
  std::vector<std::string> result;
  for (const auto& token : lexer.getAllTokens()) {
    const Span place = places.of(token.get());
    result.push_back(shown(static_cast<T>(token->getType()), place.begin, place.end));
  }
  return result;
}

std::vector<std::string> nodes_of(const ParseTree& tree) {
  std::vector<std::string> result;
  for (const TreeNode& node : tree.nodes) {
    std::ostringstream line;
    line << (node.leaf ? "token " : "rule ") << (node.leaf ? static_cast<int>(node.type) : static_cast<int>(node.rule))
         << " of " << node.first << "-" << node.last << " to node " << node.end << (node.faulty ? " faulty" : "");
    result.push_back(line.str());
  }
  return result;
}

struct Counts {
  int taken = 0, refused = 0;
};

// Some mistakes are told of by whoever reads the tree.
bool is_faulty(const TreeNode& node) { return node.faulty; }

// What is taken is read as ANTLR reads it, and all that ANTLR finds nothing wrong with is taken.
void expect_same(const std::string& text, Counts& counts) {
  const auto tokens = scan(text);
  if (tokens) {
    std::vector<std::string> mine;
    for (const TreeToken& t : *tokens) mine.push_back(shown(t.type, t.begin, t.end));
    mine.pop_back();  // the one behind the last
    EXPECT_EQ(mine, tokens_of_grammar(text)) << text;
  }
  std::string mended = text;
  Diagnostics diagnostics;
  std::set<std::size_t> given_back;
  const auto slow = parse_slow(0, mended, diagnostics, given_back);
  const auto quick = parse_quick(0, text);
  const bool good = slow && !diagnostics.failed() && given_back.empty() &&
                    std::none_of(slow->nodes.begin(), slow->nodes.end(), is_faulty);
  ASSERT_EQ(quick.has_value(), good) << text;
  ++(quick ? counts.taken : counts.refused);
  if (!quick) return;
  EXPECT_EQ(nodes_of(*quick), nodes_of(*slow)) << text;

  // Statement by statement: each begins at the second node, and the file's end stands behind them.
  ParseTree gathered{0, text, quick->tokens, {quick->nodes.front()}};
  const auto rest = parse_quick(0, text, [&](Tree statement) {
    const TreeNode* root = &statement.node();
    const auto moved = static_cast<std::uint32_t>(gathered.nodes.size() - 1);
    for (const TreeNode& node : std::span(root, root->end - 1)) {
      gathered.nodes.push_back(node);
      gathered.nodes.back().end += moved;
    }
  });
  ASSERT_TRUE(rest) << text;
  ASSERT_EQ(rest->nodes.size(), 2U) << text;
  gathered.nodes.push_back(quick->nodes.back());
  EXPECT_EQ(nodes_of(gathered), nodes_of(*quick)) << text;
}

std::vector<std::string> rule_files() {
  std::vector<std::string> result;
  for (const char* folder : {"rules", "examples", "tests/golden"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(AMPC_SOURCE_DIR) / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      // What is no text is found out before.
      if (!utf8::first_invalid(text.str()) && text.str().find('\0') == std::string::npos) result.push_back(text.str());
    }
  }
  return result;
}

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

 private:
  std::mt19937 random_;
};

TEST(QuickParser, ReadsRuleFilesAsTheGrammarDoes) {
  Counts counts;
  for (const std::string& text : rule_files()) expect_same(text, counts);
  EXPECT_GT(counts.taken, 50);
  EXPECT_GT(counts.refused, 100);
}

// Words of one file moved into another, left out, or said twice: much of it is still in the grammar.
TEST(QuickParser, ReadsDamagedRuleFilesAsTheGrammarDoes) {
  std::vector<std::string> files;
  std::vector<std::string> words;
  for (const std::string& text : rule_files()) {
    const auto tokens = scan(text);
    if (!tokens || tokens->size() < 3 || text.size() > 3000 || !parse_quick(0, text)) continue;
    files.push_back(text);
    for (const TreeToken& t : *tokens) words.push_back(text.substr(t.begin, t.end - t.begin));
  }
  ASSERT_GT(files.size(), 20U);
  Drawn drawn(7);
  Counts counts;
  for (int round = 0; round < 6000; ++round) {
    std::string text = files[drawn.below(files.size())];
    const auto tokens = *scan(text);
    for (std::size_t changes = 1 + drawn.below(2); changes != 0; --changes) {
      const TreeToken& t = tokens[drawn.below(tokens.size() - 1)];
      if (t.end > text.size()) continue;
      const std::string& word = words[drawn.below(words.size())];
      switch (drawn.below(3)) {
        case 0:
          text.replace(t.begin, t.end - t.begin, word);
          break;
        case 1:
          text.erase(t.begin, t.end - t.begin);
          break;
        default:
          text.insert(t.begin, word + " ");
          break;
      }
    }
    expect_same(text, counts);
    if (HasFailure()) break;
  }
  EXPECT_GT(counts.taken, 100);
  EXPECT_GT(counts.refused, 100);
}

TEST(QuickParser, ReadsWhateverElseAsTheGrammarDoes) {
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
  Drawn drawn(11);
  Counts counts;
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (std::size_t count = 1 + drawn.below(12); count != 0; --count) text += pieces[drawn.below(pieces.size())];
    expect_same(text, counts);
    if (HasFailure()) break;
  }
  EXPECT_GT(counts.refused, 3000);
}

}  // namespace
}  // namespace ampc::lang::syntax
