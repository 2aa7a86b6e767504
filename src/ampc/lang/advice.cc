// What to write instead of a token that the grammar does not take.
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

namespace {

using antlr4::Token;

constexpr const char* kJoined = "a domain and its operator are joined by '::', without blanks: com.microsoft::Gelu";

// The next tokens as far as no blank stands between them: a name whose quotes are missing.
std::string run_of(antlr4::TokenStream* input) {
  std::string text;
  for (ssize_t k = 1;; ++k) {
    const Token* token = input->LT(k);
    const std::size_t type = token->getType();
    if (type == Token::EOF || type == AmpLexer::LBRACE || type == AmpLexer::RBRACE || type == AmpLexer::COMMA) break;
    if (k > 1 && input->LT(k - 1)->getStopIndex() + 1 != token->getStartIndex()) break;
    text += token->getText();
  }
  return text;
}

bool is_word_like(const Token* token) {
  const char first = token->getText()[0];
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
}

bool is_value(std::size_t rule) {
  return rule == AmpParser::RuleWord || rule == AmpParser::RuleToggle || rule == AmpParser::RuleChoice;
}

bool is_operator(std::size_t rule) {
  return rule == AmpParser::RuleOp || rule == AmpParser::RuleListItem || rule == AmpParser::RuleOperators ||
         rule == AmpParser::RuleAlternative || rule == AmpParser::RuleVerdict;
}

// `group = 1`, `group =< 1`, `W = weight`
std::string of_assignment(antlr4::TokenStream* input) {
  const Token* next = input->LT(2);
  if (next->getType() == AmpLexer::LT) return "write '<='";
  if (next->getType() == AmpLexer::GT) return "write '>='";
  const std::string word = next->getText();
  if (word == "weight" || word == "constant" || word == "given") return "write 'is " + word + "'";
  return "'==' compares";
}

std::string of_condition(antlr4::TokenStream* input, std::size_t type, std::size_t last) {
  if (type == AmpLexer::ASSIGN) return of_assignment(input);
  if (type == AmpLexer::GT && last == AmpLexer::LT) return "write '!='";
  if (type == AmpLexer::IN) return "compare with each: group == 1 or group == 2";
  return {};
}

std::string of_operator_name(antlr4::TokenStream* input, std::size_t type, std::size_t last) {
  switch (type) {
    case AmpLexer::STRING:
      return "operators' names stand without quotes: allow MatMul";
    case AmpLexer::LPAREN:
      return "a list stands without brackets: allow MatMul, Gemm";
    case AmpLexer::STAR:
      return "a list names operators; those that no rule names go by the level: level O1 { default fp32 }";
    case AmpLexer::COLON:
      return last == AmpLexer::COLON || input->LA(2) == AmpLexer::COLON
                 ? kJoined
                 : "write the operators behind the verdict: allow MatMul, Gemm";
    default:
      return {};
  }
}

}  // namespace

std::string advice(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  antlr4::TokenStream* input = parser->getTokenStream();
  const Token* token = e.getOffendingToken();
  const std::size_t type = token->getType();
  const Token* before = input->LT(-1);
  const std::size_t last = before == nullptr ? Token::INVALID_TYPE : before->getType();
  const std::string behind = before == nullptr ? std::string() : before->getText();
  const antlr4::misc::IntervalSet expected = e.getExpectedTokens();
  const std::size_t rule = parser->getContext()->getRuleIndex();
  if (rule == AmpParser::RuleCondition || rule == AmpParser::RuleTerm || rule == AmpParser::RuleComparator)
    return of_condition(input, type, last);
  if (is_value(rule) && (type == AmpLexer::ASSIGN || type == AmpLexer::COLON))
    return "a setting and its value stand side by side: dtype fp16";
  if (is_operator(rule) || (rule == AmpParser::RuleAliasTarget && last == AmpLexer::ASSIGN))
    return of_operator_name(input, type, last);
  switch (rule) {
    case AmpParser::RuleVersion:
      return "write amp 1";
    case AmpParser::RuleImportFile:
      if (last != AmpLexer::IMPORT || !is_word_like(token)) return {};
      return "write import \"" + token->getText() + (token->getText().ends_with(".amp") ? "\"" : ".amp\"");
    case AmpParser::RuleAction:
      if (token->getText() == "fp32") return "write 'keep fp32' or 'store fp32'";
      if (type == AmpLexer::NUMBER) return "operands are separated by ',': arg 1, 2";
      if (last == AmpLexer::EXCEPT) return "all operands but some are written arg * except X";
      return {};
    case AmpParser::RuleAlias:
      return type == AmpLexer::EQ ? "one '=' names" : "";
    case AmpParser::RuleTypeName:
      if (type == AmpLexer::TENSOR) return "only tensors are meant: write fp16 for tensor(float16)";
      return type == AmpLexer::VARIADIC ? "the dots stand at the name: more...: T" : "";
    case AmpParser::RulePattern: {
      const std::string word = token->getText();
      const bool action = word == "low" || word == "scale" || type == AmpLexer::KEEP || type == AmpLexer::STORE;
      return (is_word_like(token) || type == AmpLexer::STAR) && !action ? "write \"" + run_of(input) + "\"" : "";
    }
    case AmpParser::RuleOverriding:
      return "lists, roles, declarations and patterns can be overridden; a setting of the importing file holds as it "
             "is";
    case AmpParser::RuleExternOperator:
      return expected.contains(static_cast<std::size_t>(AmpLexer::ARROW)) &&
                     (type == AmpLexer::ASSIGN || type == AmpLexer::COLON)
                 ? "write '->'"
                 : "";
    case AmpParser::RuleTensorRule:
    case AmpParser::RuleNodeRule:
      return type == AmpLexer::STRING || type == AmpLexer::REGEX || type == AmpLexer::AND || type == AmpLexer::OR
                 ? "names are separated by ','"
                 : "";
    case AmpParser::RuleStep:
      return type == AmpLexer::LPAREN ? "a step names what an operator makes: y = " + behind + "(...)" : "";
    case AmpParser::RuleArguments:
      return type == AmpLexer::STAR ? "operators are called by their names: Mul(x, x)" : "";
    case AmpParser::RuleGraphPattern:
      return type == AmpLexer::ID && input->LA(2) == AmpLexer::LPAREN
                 ? "levels and data types stand before the name, with a colon: pattern " + behind + ": " +
                       token->getText() + "(...)"
                 : "";
    default:
      return {};
  }
}

std::string advice_behind(antlr4::TokenStream* input) {
  const Token* token = input->LT(1);
  const std::size_t type = token->getType();
  if (type == AmpLexer::ARG || type == AmpLexer::RESULT)
    return "begin with the operator: LayerNormalization " + token->getText() + " 1 keep fp32";
  const auto stands_before = [&](std::size_t wanted) {
    for (ssize_t k = -1;; --k) {
      const Token* earlier = input->LT(k);
      if (earlier == nullptr || earlier->getLine() != token->getLine()) return false;
      if (earlier->getType() == wanted) return true;
    }
  };
  if (type == AmpLexer::COMMA && stands_before(AmpLexer::IMPORT)) return "each file has an import of its own";
  if (type == AmpLexer::AND && stands_before(AmpLexer::FOR)) return "domains are separated by ','";
  if (stands_before(AmpLexer::WHERE)) return "conditions are joined by 'and' or 'or': where group > 1 and group < 8";
  if (type == AmpLexer::AND || type == AmpLexer::OR) return "names are separated by ','";
  if (type == AmpLexer::KEEP && stands_before(AmpLexer::GUARD))
    return "a guard has no action: nodes in what it names may be lowered, all others stay in fp32";
  const Token* before = input->LT(-1);
  return before == nullptr || before->getLine() != token->getLine() ? kStatements : "leave it out";
}

}  // namespace ampc::lang::syntax
