#include "ampc/lang/parse_slow.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ampc/diag/codes.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

namespace {

// Another version may have another grammar: nothing after its first line is worth reading.
bool known_version(antlr4::CommonTokenStream& tokens, const Places& places, Diagnostics& diagnostics) {
  if (tokens.size() < 2 || tokens.get(0)->getType() != AmpLexer::AMP || tokens.get(1)->getType() != AmpLexer::NUMBER) {
    return true;  // reported as a syntax error, or later
  }
  const antlr4::Token* number = tokens.get(1);
  if (number->getText() == kVersion) return true;
  diagnostics.error(codes::kNoSuchVersion, "version " + number->getText() + " of the rule language is not known")
      .at(places.of(number))
      .fix("this compiler knows version " + std::string(kVersion) + ": write amp " + std::string(kVersion));
  return false;
}

struct Lexed {
  Lexed(FileId id, const std::string& text) : places(id, text), letters(text), lexer(&letters), tokens(&lexer) {
    lexer.removeErrorListeners();
    tokens.fill();
  }
  Places places;
  antlr4::ANTLRInputStream letters;
  AmpLexer lexer;
  antlr4::CommonTokenStream tokens;
};

std::uint32_t index_of(const antlr4::Token* token) { return static_cast<std::uint32_t>(token->getTokenIndex()); }

void append(antlr4::tree::ParseTree* tree, std::vector<TreeNode>& nodes) {
  const std::size_t at = nodes.size();
  if (auto* leaf = dynamic_cast<antlr4::tree::TerminalNode*>(tree)) {
    const antlr4::Token* token = leaf->getSymbol();
    const std::size_t type = token->getType();
    nodes.push_back({{},
                     type == antlr4::Token::EOF ? T::END_OF_FILE : static_cast<T>(type),
                     true,
                     false,
                     index_of(token),
                     index_of(token),
                     0});
  } else if (auto* rule = dynamic_cast<antlr4::ParserRuleContext*>(tree)) {
    const std::uint32_t first = index_of(rule->start);
    nodes.push_back({static_cast<R>(rule->getRuleIndex()),
                     {},
                     false,
                     rule->exception != nullptr,
                     first,
                     rule->stop == nullptr ? first : index_of(rule->stop),
                     0});
    for (antlr4::tree::ParseTree* child : rule->children) append(child, nodes);
  }
  if (nodes.size() != at) nodes[at].end = static_cast<std::uint32_t>(nodes.size());
}

ParseTree flat(antlr4::ParserRuleContext* root, antlr4::CommonTokenStream& tokens, const Places& places,
               std::string_view text) {
  ParseTree result{places.file(), text, {}, {}};
  for (const antlr4::Token* token : tokens.getTokens()) {
    const Span place = places.of(token);
    const std::size_t type = token->getType();
    result.tokens.push_back(
        {type == antlr4::Token::EOF ? T::END_OF_FILE : static_cast<T>(type), place.begin, place.end});
  }
  append(root, result.nodes);
  return result;
}

}  // namespace

std::optional<ParseTree> parse_slow(FileId file, std::string& text, Diagnostics& diagnostics,
                                    std::set<std::size_t>& given_back) {
  FaultyLines faulty;
  auto lexed = std::make_unique<Lexed>(file, text);
  if (!known_version(lexed->tokens, lexed->places, diagnostics)) return std::nullopt;
  if (mend(text, lexed->tokens, lexed->places, diagnostics, faulty)) lexed = std::make_unique<Lexed>(file, text);
  if (!check_tokens(lexed->tokens, lexed->places, diagnostics, faulty)) return std::nullopt;

  // What the runtime knows of the grammar, all parsers share, and it is made as it is needed.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  AmpParser parser(&lexed->tokens);
  parser.removeErrorListeners();
  const auto recovery = std::make_shared<StatementRecovery>(lexed->places, diagnostics, faulty);
  parser.setErrorHandler(recovery);
  ParseTree tree = flat(parser.file(), lexed->tokens, lexed->places, text);
  given_back = recovery->given_back();
  return tree;
}

}  // namespace ampc::lang::syntax
