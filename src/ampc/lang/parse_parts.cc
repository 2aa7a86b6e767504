// Long rule files, in parts that are parsed at the same time.
#include <CommonTokenFactory.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>

#include "ampc/lang/tree_builder.h"

namespace ampc::lang::syntax {
namespace {

using antlr4::Token;

constexpr std::size_t kPart = 6000;  // tokens of a part, at least: some hundred lines, a few milliseconds

/// Tokens [begin, end) of a list, and an end.
class Slice : public antlr4::TokenSource {
 public:
  Slice(const std::vector<Token*>& tokens, std::size_t begin, std::size_t end)
      : tokens_(tokens), next_(begin), end_(end) {}

  std::unique_ptr<Token> nextToken() override {
    auto token = std::make_unique<antlr4::CommonToken>(tokens_[next_]);
    if (next_ < end_) {
      ++next_;
    } else {
      token->setType(Token::EOF);
    }
    return token;
  }
  std::size_t getLine() const override { return tokens_[next_]->getLine(); }
  std::size_t getCharPositionInLine() override { return tokens_[next_]->getCharPositionInLine(); }
  antlr4::CharStream* getInputStream() override { return nullptr; }
  std::string getSourceName() override { return {}; }
  antlr4::TokenFactory<antlr4::CommonToken>* getTokenFactory() override {
    return antlr4::CommonTokenFactory::DEFAULT.get();
  }

 private:
  const std::vector<Token*>& tokens_;
  std::size_t next_;
  std::size_t end_;
};

// Does a statement begin here, whatever is before? Words that can be names, or that a statement can end with, do not
// tell.
bool begins_for_sure(const std::vector<Token*>& tokens, std::size_t at) {
  const std::size_t before = tokens[at - 1]->getType();
  if (before == AmpLexer::OVERRIDE || before == AmpLexer::SEALED) return false;
  const std::size_t next = tokens[at + 1]->getType();
  switch (tokens[at]->getType()) {
    case AmpLexer::IMPORT:
    case AmpLexer::ALLOW:
    case AmpLexer::DENY:
    case AmpLexer::UNSUPPORTED:
    case AmpLexer::LEAVE:
    case AmpLexer::ALIAS:
      return true;
    case AmpLexer::TENSOR:
    case AmpLexer::NODE:
    case AmpLexer::GUARD:
    case AmpLexer::SCOPE:
      return next == AmpLexer::STRING || next == AmpLexer::REGEX;
    default:
      return false;
  }
}

/// Where parts begin, and the end of the last.
std::vector<std::size_t> cuts(const std::vector<Token*>& tokens) {
  std::vector<std::size_t> result = {0};
  int depth = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::size_t type = tokens[i]->getType();
    if (type == AmpLexer::LBRACE) ++depth;
    if (type == AmpLexer::RBRACE) --depth;
    if (depth == 0 && i - result.back() >= kPart && begins_for_sure(tokens, i)) result.push_back(i);
  }
  result.push_back(tokens.size() - 1);
  return result;
}

}  // namespace

std::optional<std::vector<ast::Statement>> parse_in_parts(const std::vector<Token*>& tokens, const Places& places,
                                                          Diagnostics& diagnostics) {
  if (tokens.size() < 2 * kPart) return std::nullopt;
  const std::vector<std::size_t> cut = cuts(tokens);
  struct Part {
    ast::File file;
    Diagnostics diagnostics;
  };
  std::vector<Part> parts(cut.size() - 1);
  std::atomic<bool> fault = false;
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
    Slice slice(tokens, cut[i], cut[i + 1]);
    antlr4::CommonTokenStream stream(&slice);
    AmpParser parser(&stream);
    parser.removeErrorListeners();
    parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
    parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
    try {
      build(parser.file()->statement(), places, parts[i].diagnostics, {}, parts[i].file);
    } catch (const antlr4::ParseCancellationException&) {
      fault = true;
    }
  });
  if (fault) return std::nullopt;
  std::vector<ast::Statement> result;
  for (Part& part : parts) {
    std::move(part.file.statements.begin(), part.file.statements.end(), std::back_inserter(result));
    diagnostics.take(part.diagnostics);
  }
  return result;
}

}  // namespace ampc::lang::syntax
