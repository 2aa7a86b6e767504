// Syntax errors: one message in the language's own terms, then on with the next statement.
#include <algorithm>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

namespace {

using antlr4::Token;

// Verbs that are no name anywhere: wherever they stand, a statement begins.
bool is_verb(std::size_t type) {
  switch (type) {
    case AmpLexer::IMPORT:
    case AmpLexer::FOLLOW:
    case AmpLexer::ALLOW:
    case AmpLexer::DENY:
    case AmpLexer::UNSUPPORTED:
    case AmpLexer::LEAVE:
    case AmpLexer::BOUNDED:
    case AmpLexer::MOVES:
    case AmpLexer::OVERRIDE:
    case AmpLexer::ALIAS:
      return true;
    default:
      return false;
  }
}

// Statements about names: sure where a pattern follows.
bool takes_pattern(std::size_t type) {
  return type == AmpLexer::TENSOR || type == AmpLexer::NODE || type == AmpLexer::GUARD || type == AmpLexer::SCOPE ||
         type == AmpLexer::BLOCK || type == AmpLexer::WEIGHT;
}

bool can_begin(std::size_t type) {
  if (is_verb(type) || takes_pattern(type)) return true;
  switch (type) {
    case AmpLexer::EXTERN:
    case AmpLexer::AMP:
    case AmpLexer::DTYPE:
    case AmpLexer::LEVEL:
    case AmpLexer::PROMOTE:
    case AmpLexer::GRAY:
    case AmpLexer::REWRITE:
    case AmpLexer::IO:
    case AmpLexer::OVERFLOWING:
    case AmpLexer::UNDERFLOWING:
    case AmpLexer::FUNCTIONS:
    case AmpLexer::SHARED:
    case AmpLexer::ON:
    case AmpLexer::WEIGHTS:
    case AmpLexer::DEFAULT:
    case AmpLexer::OFF:
    case AmpLexer::ID:
    case AmpLexer::QNAME:
      return true;
    default:
      return false;
  }
}

bool is_name(std::size_t type) { return type == AmpLexer::ID || type == AmpLexer::QNAME; }

std::string shown(const Token* token) {
  if (token->getType() == Token::EOF) return "the end of the file";
  std::string text = token->getText();
  if (token->getType() == AmpLexer::STRING || token->getType() == AmpLexer::REGEX) return text;
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return "'" + text + "'";
}

// Does a statement begin at the next token, as far as one can tell after a mistake?
bool begins_statement(antlr4::TokenStream* input) {
  const Token* token = input->LT(1);
  const std::size_t type = token->getType();
  if (is_verb(type)) return true;
  const std::size_t next = input->LA(2);
  if (takes_pattern(type) && (next == AmpLexer::STRING || next == AmpLexer::REGEX)) return true;
  if (type == AmpLexer::EXTERN && next == AmpLexer::QNAME) return true;
  if (!can_begin(type)) return false;
  const Token* before = input->LT(-1);
  // A name at the head of a line begins a statement, unless the line before is to be continued.
  return before == nullptr || (before->getLine() != token->getLine() && before->getType() != AmpLexer::COMMA);
}

// The keywords that could stand here.
std::vector<std::string> expected_words(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  std::vector<std::string> words;
  for (const auto type : e.getExpectedTokens().toList()) {
    if (type <= 0) continue;  // the end of the file
    std::string literal = parser->getVocabulary().getLiteralName(static_cast<std::size_t>(type));
    if (literal.size() > 3 && literal[1] >= 'a' && literal[1] <= 'z')
      words.push_back(literal.substr(1, literal.size() - 2));
  }
  return words;
}

// The innermost tree of a rule that is open here, within the statement.
antlr4::ParserRuleContext* enclosing(antlr4::Parser* parser, std::size_t rule) {
  for (antlr4::RuleContext* c = parser->getContext(); c != nullptr; c = dynamic_cast<antlr4::RuleContext*>(c->parent)) {
    const std::size_t index = c->getRuleIndex();
    if (index == rule) return dynamic_cast<antlr4::ParserRuleContext*>(c);
    if (index == AmpParser::RuleStatement) break;
  }
  return nullptr;
}

}  // namespace

const std::vector<std::string_view>& statement_words() {
  static const std::vector<std::string_view> words = {
      "alias",   "allow",  "amp",       "block",  "bounded",   "default",     "deny",     "dtype",
      "extern",  "follow", "functions", "gray",   "guard",     "import",      "io",       "leave",
      "level",   "moves",  "node",      "off",    "on",        "overflow",    "override", "promote",
      "rewrite", "scope",  "shared",    "tensor", "underflow", "unsupported", "weight",   "weights"};
  return words;
}

void StatementRecovery::sync(antlr4::Parser* parser) {
  const std::size_t rule = parser->getContext()->getRuleIndex();
  if (rule != AmpParser::RuleFile && rule != AmpParser::RuleBody) return;
  antlr4::TokenStream* input = parser->getTokenStream();
  for (;;) {
    const Token* token = input->LT(1);
    const std::size_t type = token->getType();
    if (type == Token::EOF || can_begin(type)) return;
    if (type == AmpLexer::RBRACE) {
      if (rule == AmpParser::RuleBody) return;
      diagnostics_.error(codes::kStrayBrace, "this '}' closes nothing").at(places_.of(token));
      parser->consume();
      continue;
    }
    if (give_back_head(parser, "an operator's name")) return;
    const Token* before = input->LT(-1);
    const bool same_line = before != nullptr && before->getLine() == token->getLine();
    if (!faulty_.contains(token->getLine())) {
      auto& d = diagnostics_
                    .error(codes::kExpected, same_line ? "unexpected " + shown(token) + " after " + shown(before)
                                                       : "expected a statement, found " + shown(token))
                    .at(places_.of(token), same_line ? "the statement is complete before this" : "");
      if (type == AmpLexer::ARG || type == AmpLexer::RESULT) {
        d.fix("begin with the operator: LayerNormalization " + token->getText() + " 1 keep fp32");
      }
    }
    parser->consume();
    skip_to_statement(parser);
  }
}

Token* StatementRecovery::recoverInline(antlr4::Parser* parser) { throw antlr4::InputMismatchException(parser); }

void StatementRecovery::recover(antlr4::Parser* parser, std::exception_ptr e) {
  const std::size_t rule = parser->getContext()->getRuleIndex();
  if (rule != AmpParser::RuleStatement && rule != AmpParser::RuleFile) std::rethrow_exception(e);
  antlr4::TokenStream* input = parser->getTokenStream();
  if (input->index() == parser->getContext()->start->getTokenIndex() && input->LA(1) != Token::EOF) parser->consume();
  skip_to_statement(parser);
  endErrorCondition(parser);
}

void StatementRecovery::skip_to_statement(antlr4::Parser* parser) {
  antlr4::TokenStream* input = parser->getTokenStream();
  int depth = 0;
  while (input->LA(1) != Token::EOF) {
    const std::size_t type = input->LA(1);
    if (depth == 0 && (type == AmpLexer::RBRACE || begins_statement(input))) return;
    if (type == AmpLexer::LBRACE) ++depth;
    if (type == AmpLexer::RBRACE) --depth;
    parser->consume();
  }
}

// Where a line ends too early, the name at the head of the next one is taken for what is missing, and 'arg' behind it
// comes as a surprise. Reports at the end of the line before and gives the name back, so that its own statement is
// read.
bool StatementRecovery::give_back_head(antlr4::Parser* parser, std::string_view missing) {
  antlr4::TokenStream* input = parser->getTokenStream();
  const std::size_t type = input->LA(1);
  const Token* head = input->LT(-1);
  const Token* before = head == nullptr ? nullptr : input->LT(-2);
  if ((type != AmpLexer::ARG && type != AmpLexer::RESULT) || before == nullptr || !is_name(head->getType()) ||
      head->getLine() == before->getLine()) {
    return false;
  }
  // A value is checked later and reported then; a name that fits would pass.
  const std::size_t last = before->getType();
  if (is_verb(last) || last == AmpLexer::COMMA || last == AmpLexer::COLON || last == AmpLexer::ASSIGN ||
      last == AmpLexer::ARG || last == AmpLexer::RESULT || last == AmpLexer::EXCEPT) {
    diagnostics_.error(codes::kExpected, "expected " + std::string(missing) + " after " + shown(before))
        .at(places_.of(before));
  }
  input->seek(head->getTokenIndex());
  return true;
}

// `alow MatMul, Conv` reads as the begin of a role: names, but no 'arg' after them.
bool StatementRecovery::report_headless_role(antlr4::Parser* parser) {
  auto* role = dynamic_cast<AmpParser::RoleContext*>(enclosing(parser, AmpParser::RuleRole));
  if (role == nullptr || role->ARG() != nullptr || role->RESULT() != nullptr) return false;
  antlr4::TokenStream* input = parser->getTokenStream();
  const Token* head = role->start;
  const std::size_t here = input->index();
  input->seek(head->getTokenIndex());
  const Token* before = input->LT(-1);
  const Token* before_that = before == nullptr ? nullptr : input->LT(-2);
  const Token* next = input->LT(2);
  input->seek(here);
  const bool same_line = before != nullptr && before->getLine() == head->getLine();
  const bool after_type = same_line && (before->getType() == AmpLexer::FP16 || before->getType() == AmpLexer::BF16);

  // `deny fp16 Exp`: the list before reports its missing colon.
  const bool list_without_colon = after_type && before_that != nullptr && before_that->getType() != AmpLexer::DTYPE;
  if (faulty_.contains(head->getLine()) || list_without_colon) {
    // One slip, one message, and that is given.
  } else if (same_line && !is_name(before->getType())) {
    diagnostics_.error(codes::kExpected, "unexpected " + shown(head) + " after " + shown(before))
        .at(places_.of(head), "the statement is complete before this");
  } else if (same_line) {
    diagnostics_.error(codes::kExpected, "expected ',' between " + shown(before) + " and " + shown(head))
        .at(places_.of(head));
  } else if (const auto word = nearest(head->getText(), statement_words());
             word && (next->getLine() == head->getLine()) && is_name(head->getType())) {
    diagnostics_.error(codes::kUnknownStatement, "no statement begins with " + shown(head))
        .at(places_.of(head), "did you mean '" + *word + "'?");
  } else if (next->getLine() != head->getLine() || next->getType() == AmpLexer::COMMA ||
             next->getType() == Token::EOF) {
    diagnostics_.error(codes::kExpected, "expected 'arg' or 'result' after " + shown(head))
        .at(places_.of(head))
        .fix("to decide about an operator, begin with the verdict: allow " + head->getText() +
             "; to decide about an operand: " + head->getText() + " arg 1 keep fp32");
  } else {
    diagnostics_.error(codes::kUnknownStatement, "no statement begins with " + shown(head))
        .at(places_.of(head))
        .fix(
            "statements begin with allow, deny, follow, ... or with an operator and 'arg' or 'result': MatMul arg 1 "
            "keep fp32");
  }
  // What stands behind the head may be the next statement already.
  input->seek(head->getTokenIndex() + 1);
  return true;
}

void StatementRecovery::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  if (inErrorRecoveryMode(parser)) return;
  beginErrorCondition(parser);
  const antlr4::ParserRuleContext* here = parser->getContext();
  const Token* token = e.getOffendingToken();
  if (here->getRuleIndex() == AmpParser::RuleBody && token->getType() == Token::EOF &&
      here->start->getType() == AmpLexer::LBRACE) {
    if (!end_reported_) diagnostics_.error(codes::kUnclosedBody, "this '{' is not closed").at(places_.of(here->start));
    end_reported_ = true;
    return;
  }
  if (report_headless_role(parser) || faulty_.contains(token->getLine())) return;
  if (here->getRuleIndex() == AmpParser::RuleAction && give_back_head(parser, "an operand number or name")) return;

  antlr4::TokenStream* input = parser->getTokenStream();
  const Token* before = input->LT(-1);
  std::string message = "expected " + expectation(parser, e);
  if (before != nullptr) message += " after " + shown(before);
  const bool next_line = before != nullptr && before->getLine() != token->getLine();
  if (next_line && faulty_.contains(before->getLine())) return;
  if (!next_line && token->getType() != Token::EOF) message += ", found " + shown(token);
  auto& d = diagnostics_.error(codes::kExpected, message).at(places_.of(token));
  if (!next_line && is_name(token->getType())) d.label = did_you_mean(token->getText(), expected_words(parser, e));
  // What is missing at the end of a line is missing there, not at the head of the next.
  if (next_line || token->getType() == Token::EOF) d.at(before != nullptr ? places_.of(before) : places_.of(token));

  if (here->getRuleIndex() == AmpParser::RuleAction && token->getText() == "fp32")
    d.fix("write 'keep fp32' or 'store fp32'");
  if (token->getType() == AmpLexer::ASSIGN && enclosing(parser, AmpParser::RuleCondition) != nullptr) {
    d.fix("'==' compares");
  }
  if (token->getType() == AmpLexer::EQ && enclosing(parser, AmpParser::RuleAlias) != nullptr) d.fix("one '=' names");
  if (here->getRuleIndex() == AmpParser::RuleTypeName && token->getType() == AmpLexer::TENSOR)
    d.fix("only tensors are meant: write fp16 for tensor(float16)");
  if (here->getRuleIndex() == AmpParser::RulePattern && is_name(token->getType())) {
    d.fix("write \"" + token->getText() + "\"");
  }
  if (here->getRuleIndex() == AmpParser::RuleImportFile && token->getType() != Token::EOF && !next_line) {
    d.fix("write import \"" + token->getText() + (token->getText().ends_with(".amp") ? "\"" : ".amp\""));
  }
  end_reported_ = end_reported_ || token->getType() == Token::EOF;
}

}  // namespace ampc::lang::syntax
