// What may stand at a place of the grammar, in words.

#include "ampc/diag/suggest.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

std::string values_after(const std::string& setting) {
  if (setting == "dtype") return "'fp16' or 'bf16'";
  if (setting == "promote") return "'on' or 'off'";
  if (setting == "gray") return "'local' or 'cut'";
  if (setting == "rewrite") return "'creators', 'moved' or 'redundant'";
  if (setting == "creators" || setting == "moved" || setting == "redundant") return "'on' or 'off'";
  if (setting == "io") return "'keep' or 'low'";
  if (setting == "overflow") return "'keep', 'clamp', 'inf' or 'error'";
  if (setting == "underflow") return "'keep' or 'flush'";
  if (setting == "functions") return "'keep' or 'inline'";
  if (setting == "shared") return "'fp32', 'low' or 'both'";
  if (setting == "master") return "'keep' or 'rounded'";
  if (setting == "conflict") return "'node', 'store' or 'error'";
  if (setting == "level") return "the name of a level";
  if (setting == "default") return "'low' or 'fp32'";
  if (setting == "weights") return "'keep', 'use' or 'low'";
  if (setting == "keep" || setting == "store") return "'fp32'";
  if (setting == "from") return "'integers'";
  if (setting == "is" || setting == "not") return "'weight', 'constant' or 'given'";
  return "a value";
}

namespace {

// The grammar's own token names, where nothing better is known.
std::string tokens(antlr4::Parser* parser, const antlr4::misc::IntervalSet& expected) {
  std::vector<std::string> names;
  for (const auto type : expected.toList()) {
    if (type == static_cast<ssize_t>(antlr4::Token::EOF)) continue;
    const std::string literal = parser->getVocabulary().getLiteralName(static_cast<std::size_t>(type));
    if (!literal.empty()) names.push_back(literal);
  }
  if (names.empty() || names.size() > 6) return "something else";
  return list_of(names, false);
}

bool within(antlr4::Parser* parser, std::size_t rule) {
  const auto* parent = dynamic_cast<antlr4::RuleContext*>(parser->getContext()->parent);
  return parent != nullptr && parent->getRuleIndex() == rule;
}

constexpr const char* kPatternOperand = "an operand (a name, a number, a call, '_' or '*')";

std::string in_pattern(const antlr4::misc::IntervalSet& expected) {
  const auto takes = [&](std::size_t type) { return expected.contains(type); };
  if (takes(AmpLexer::LPAREN)) return "'(' and the pattern's parameters";
  if (takes(AmpLexer::RPAREN)) return "',' or ')'";
  if (takes(AmpLexer::LBRACE)) return "'{'";
  if (takes(AmpLexer::RBRACE)) return "a step or '}'";
  return "the name of a pattern";
}

}  // namespace

std::string expectation(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  const antlr4::misc::IntervalSet expected = e.getExpectedTokens();
  const auto takes = [&](std::size_t type) { return expected.contains(type); };
  const antlr4::Token* before = parser->getTokenStream()->LT(-1);
  const std::size_t last = before == nullptr ? antlr4::Token::INVALID_TYPE : before->getType();
  switch (parser->getContext()->getRuleIndex()) {
    case AmpParser::RuleVersion:
      return "the number of the language's version";
    case AmpParser::RuleImportFile:
      return "a file name in quotes";
    case AmpParser::RuleDomain:
      return "a domain of operators";
    case AmpParser::RuleWord:
    case AmpParser::RuleToggle:
    case AmpParser::RuleChoice:
    case AmpParser::RuleProperty:
      return values_after(before == nullptr ? "" : before->getText());
    case AmpParser::RulePatternItem:
    case AmpParser::RulePatternName:
      return "the name of a pattern, or levels and data types,";
    case AmpParser::RuleGraphPattern:
      return in_pattern(expected);
    case AmpParser::RulePatternAction:
      return "'keep fp32', 'low' or 'follow'";
    case AmpParser::RuleStep:
      return takes(AmpLexer::ASSIGN) ? "'='" : "an operator's name";
    case AmpParser::RuleAlternative:
      return "an operator's name";
    case AmpParser::RuleArguments:
      return takes(AmpLexer::LPAREN) ? "'('" : takes(AmpLexer::NUMBER) ? kPatternOperand : "',' or ')'";
    case AmpParser::RuleArgument:
      return kPatternOperand;
    case AmpParser::RuleListItem:
    case AmpParser::RuleOp:
    case AmpParser::RuleOperators:
      return "an operator's name";
    case AmpParser::RuleOverriding:
      return "the statement that replaces the imported ones ('allow', 'deny', 'extern', ... or an operator)";
    case AmpParser::RuleQualifier:
      return "a level or a data type";
    case AmpParser::RuleRole:
      return "'arg' or 'result'";
    case AmpParser::RuleOperands:
      return "an operand number or name, or '*',";
    case AmpParser::RuleOperand:
      return "an operand number or name";
    case AmpParser::RuleOperandName:
      return "an operand's name";
    case AmpParser::RuleAction:
      if (last == AmpLexer::STAR)
        return "'except' or an action ('keep fp32', 'store fp32', 'exact', 'saturate' or 'factor')";
      return "an action ('keep fp32', 'store fp32', 'exact', 'saturate' or 'factor')";
    case AmpParser::RuleAliasName:
      return "a name";
    case AmpParser::RuleAlias:
      if (takes(AmpLexer::ASSIGN)) return takes(AmpLexer::LPAREN) ? "'=' or '('" : "'='";
      return takes(AmpLexer::RPAREN) ? "',' or ')'" : "',' or the end of the alias";
    case AmpParser::RuleName:
      return within(parser, AmpParser::RuleBinding) ? "the name of an operand or a parameter"
                                                    : "the name of a parameter";
    case AmpParser::RuleParameters:
      return "the name of a parameter";
    case AmpParser::RuleAliasTarget:
      return takes(AmpLexer::RPAREN) ? "',' or ')'" : "operands and parameters";
    case AmpParser::RuleBinding:
      return "':' and a parameter";
    case AmpParser::RuleExternOperator:
      if (last == AmpLexer::SINCE) return "the first opset version of the domain that has it";
      if (takes(AmpLexer::ARROW)) return "'->' and the results";
      if (takes(AmpLexer::WHERE)) return "'where' and the type variables";
      return "'since', the attributes in <...> or the operands in (...)";
    case AmpParser::RuleAttributes:
      return "',' or '>'";
    case AmpParser::RuleAttribute:
      if (last == AmpLexer::ASSIGN) return "the default, a number or a text in quotes";
      return takes(AmpLexer::QUESTION) ? "':' and the type, or '?' where it may be left out" : "':' and the type";
    case AmpParser::RuleFormals:
      if (takes(AmpLexer::RPAREN) && last != AmpLexer::LPAREN) return "',' or ')'";
      return takes(AmpLexer::LPAREN) ? "'(' and the operands' names and types" : "the name of an operand";
    case AmpParser::RuleFormal:
      return takes(AmpLexer::QUESTION) ? "':' and the type, or '?' where it may be left out"
             : takes(AmpLexer::COLON)  ? "':' and the type"
                                       : "the name of an operand";
    case AmpParser::RuleTypeVariable:
      return takes(AmpLexer::IN) ? "'in' and the types that it may be" : "a type variable";
    case AmpParser::RuleTypeName:
      return "a type such as fp32 or int64, or a type variable";
    case AmpParser::RulePattern:
      return "a name in quotes or a regular expression between slashes";
    case AmpParser::RuleTensorRule:
      return "'keep fp32', 'store fp32' or 'scale'";
    case AmpParser::RuleOptimizer:
      return takes(AmpLexer::LPAREN) ? "'(' and the operands that are parameters, gradients and states" : "',' or ')'";
    case AmpParser::RuleOptimizerOperand:
      return takes(AmpLexer::COLON) ? "':'" : "'parameter', 'gradient' or 'state'";
    case AmpParser::RuleBackward:
      if (last == AmpLexer::BACKWARD) return "a regular expression between slashes";
      return "a text in quotes";
    case AmpParser::RuleNodeRule:
      return "'keep fp32' or 'low'";
    case AmpParser::RuleWeightRule:
      return last == AmpLexer::WEIGHT ? "a name in quotes or 'where'" : "'keep fp32'";
    case AmpParser::RuleScope:
    case AmpParser::RuleBody:
      return takes(AmpLexer::LBRACE) ? "'{'" : "a statement or '}'";
    case AmpParser::RuleBlock:
      if (last == AmpLexer::BLOCK) return "the name of a block in quotes";
      if (takes(AmpLexer::LBRACKET)) return "a range such as [1,3)";
      if (takes(AmpLexer::NUMBER)) return "the number of a node";
      if (takes(AmpLexer::COMMA)) return "','";
      return "')'";
    case AmpParser::RuleNegation:
      return "a condition";
    case AmpParser::RuleCondition:
      if (takes(AmpLexer::EQ)) return "a comparison (==, !=, <, <=, >, >=) or 'is'";
      return takes(AmpLexer::RPAREN) ? "'and', 'or' or ')'" : "a condition";
    case AmpParser::RuleComparator:
      return "a comparison (==, !=, <, <=, >, >=)";
    case AmpParser::RuleTerm:
    case AmpParser::RuleTermName:
      if (within(parser, AmpParser::RulePatternName)) return "the name of a pattern";
      if (within(parser, AmpParser::RuleGraphPattern)) return "the name of a parameter";
      if (within(parser, AmpParser::RuleStep)) return "the name of a step";
      if (within(parser, AmpParser::RuleArgument)) return kPatternOperand;
      if (takes(AmpLexer::RPAREN)) return takes(AmpLexer::COMMA) ? "')' or ','" : "')'";
      return last == AmpLexer::COMMA ? "a number" : "a name, a number or a text in quotes";
    default:
      return tokens(parser, expected);
  }
}

}  // namespace ampc::lang::syntax
