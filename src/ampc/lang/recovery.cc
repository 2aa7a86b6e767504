// Syntax errors: one message in the language's own terms, then on with the next statement.
#include <algorithm>
#include <utility>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/synonyms.h"
#include "ampc/lang/syntax.h"
#include "ampc/lang/token_kinds.h"

namespace ampc::lang::syntax {

namespace {

using antlr4::Token;

std::string of_operator(const std::string& op) {
  return "to decide about an operator, begin with the verdict: deny " + op + " for fp32, allow " + op +
         " for the low type; to decide about an operand: " + op + " arg 1 keep fp32";
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

// Does a statement begin at the next token, as far as one can tell after a mistake?
bool StatementRecovery::begins_statement(antlr4::TokenStream* input) const {
  const Token* token = input->LT(1);
  const std::size_t type = token->getType();
  const Token* before = input->LT(-1);
  const Token* behind = input->LT(2);
  if (is_verb(type)) {  // but for a line's last word, which has nothing to say anything of
    return before == nullptr || before->getLine() != token->getLine() || behind->getLine() == token->getLine();
  }
  const std::size_t next = behind->getType();
  if (takes_pattern(type) && (next == AmpLexer::STRING || next == AmpLexer::REGEX)) return true;
  if (type == AmpLexer::EXTERN && next == AmpLexer::QNAME) return true;
  const bool new_line =
      before != nullptr && before->getLine() != token->getLine() && before->getType() != AmpLexer::COMMA;
  // A name at the head of a line begins a statement, unless the line before is to be continued.
  if (can_begin(type)) return before == nullptr || new_line;
  // Words that begin none are told of where they are surely meant to.
  return new_line && token->getCharPositionInLine() == 0 &&
         (type == AmpLexer::KEEP || type == AmpLexer::STORE || type == AmpLexer::NOT || type == AmpLexer::ARG ||
          type == AmpLexer::RESULT || type == AmpLexer::FROM || type == AmpLexer::EXCEPT);
}

const std::vector<std::string_view>& statement_words() {
  static const std::vector<std::string_view> words = {
      "alias",   "allow",     "amp",      "backward",  "block",       "bounded",   "collective", "commutes",
      "default", "deny",      "dtype",    "extern",    "follow",      "functions", "gray",       "guard",
      "import",  "io",        "leave",    "level",     "master",      "moves",     "node",       "off",
      "on",      "optimizer", "overflow", "override",  "pattern",     "promote",   "rewrite",    "scope",
      "sealed",  "shared",    "tensor",   "underflow", "unsupported", "weight",    "weights"};
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
      diagnostics_.error(codes::kStrayBrace, "this '}' closes nothing")
          .at(places_.of(token))
          .fix("leave it out, or open what it closes with '{'");
      parser->consume();
      continue;
    }
    if (give_back_head(parser, "an operator's name")) return;
    tell_unexpected(input);
    parser->consume();
    skip_to_statement(parser);
  }
}

// The next token neither continues the statement before it nor begins one.
void StatementRecovery::tell_unexpected(antlr4::TokenStream* input) {
  const Token* token = input->LT(1);
  const Token* before = input->LT(-1);
  if (faulty_.contains(token->getLine()) || !told_.insert(token->getLine()).second) return;
  const bool same_line = before != nullptr && before->getLine() == token->getLine();
  diagnostics_
      .error(codes::kExpected, same_line ? "unexpected " + shown(token) + " after " + shown(before)
                                         : "expected a statement, found " + shown(token))
      .at(places_.of(token), same_line ? "the statement is complete before this" : "")
      .fix(advice_behind(input));
}

Token* StatementRecovery::recoverInline(antlr4::Parser* parser) { throw antlr4::InputMismatchException(parser); }

void StatementRecovery::recover(antlr4::Parser* parser, std::exception_ptr e) {
  const std::size_t rule = parser->getContext()->getRuleIndex();
  if (rule != AmpParser::RuleStatement && rule != AmpParser::RuleFile) std::rethrow_exception(e);
  antlr4::TokenStream* input = parser->getTokenStream();
  if (input->index() == parser->getContext()->start->getTokenIndex() && input->LA(1) != Token::EOF) parser->consume();
  leave_pattern(parser);
  const Token* before = input->LT(-1);
  if (before != nullptr && before->getType() == AmpLexer::RBRACE && before->getLine() == input->LT(1)->getLine() &&
      is_verb(input->LA(1))) {
    parser->consume();  // `pattern … } allow`: a verb where the pattern's action belongs
  }
  skip_to_statement(parser);
  endErrorCondition(parser);
}

// The lines of a pattern's body are no statements: after a fault in a pattern, on to its end.
void StatementRecovery::leave_pattern(antlr4::Parser* parser) {
  antlr4::TokenStream* input = parser->getTokenStream();
  const std::size_t begin = parser->getContext()->start->getTokenIndex();
  std::size_t head = begin;
  for (; head < input->size(); ++head) {
    const std::size_t type = input->get(head)->getType();
    if (type != AmpLexer::OVERRIDE && type != AmpLexer::SEALED) break;
  }
  if (head >= input->size() || input->get(head)->getType() != AmpLexer::PATTERN) return;
  int depth = 0;
  for (std::size_t i = head; i < input->index(); ++i) {
    const std::size_t type = input->get(i)->getType();
    if (type == AmpLexer::LBRACE) ++depth;
    if (type == AmpLexer::RBRACE) --depth;
  }
  if (depth == 0 && input->LA(1) == AmpLexer::LBRACE) {  // the fault is in its head
    ++depth;
    parser->consume();
  }
  while (depth > 0 && input->LA(1) != Token::EOF && !is_verb(input->LA(1))) {
    if (input->LA(1) == AmpLexer::RBRACE && --depth == 0 && input->LA(2) == AmpLexer::FOLLOW) parser->consume();
    parser->consume();
  }
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
  const std::size_t last = before->getType();
  std::string wanted(missing);
  if (last == AmpLexer::STRING || last == AmpLexer::REGEX) {
    wanted = "an action";
  } else if (last == AmpLexer::RBRACE) {
    wanted = "'keep fp32', 'low' or 'follow'";
  } else if (!is_verb(last) && last != AmpLexer::COMMA && last != AmpLexer::COLON && last != AmpLexer::ASSIGN &&
             last != AmpLexer::ARG && last != AmpLexer::RESULT && last != AmpLexer::EXCEPT) {
    wanted = values_after(before->getText());
  }
  if (!faulty_.contains(before->getLine()) && told_.insert(before->getLine()).second) {
    diagnostics_.error(codes::kExpected, "expected " + wanted + " after " + shown(before)).at(places_.of(before));
  }
  given_back_.insert(head->getTokenIndex());
  input->seek(head->getTokenIndex());
  return true;
}

// A name behind what reads as a complete statement.
void StatementRecovery::report_in_line(const Token* head, const Token* before, const Token* before_that) {
  if (told_.contains(head->getLine())) return;
  const std::size_t type = before->getType();
  const std::size_t earlier = before_that == nullptr ? Token::INVALID_TYPE : before_that->getType();
  // `deny fp16 Exp`: the list before reports its missing colon.
  if ((type == AmpLexer::FP16 || type == AmpLexer::BF16) && before_that != nullptr && earlier != AmpLexer::DTYPE)
    return;
  // `tensor "x" kep fp32`: the value is reported later.
  const bool named = earlier == AmpLexer::STRING || earlier == AmpLexer::REGEX;
  if (named && type == AmpLexer::ID && before->getText() != "scale" && before->getText() != "low") return;
  const std::string text = head->getText();
  if (is_name(type) && (text == "if" || text == "when" || text == "unless")) {
    diagnostics_.error(codes::kExpected, "expected 'where' before a condition, found " + shown(head))
        .at(places_.of(head));
  } else if (earlier == AmpLexer::IO) {
    diagnostics_.error(codes::kExpected, "expected a name in quotes after " + shown(before) + ", found " + shown(head))
        .at(places_.of(head))
        .fix("write \"" + text + "\"");
  } else if (is_name(type) && !named && !takes_value(earlier)) {
    const Span end = places_.of(before);
    diagnostics_.error(codes::kExpected, "expected ',' between " + shown(before) + " and " + shown(head))
        .at(places_.of(head))
        .edit({end.file, end.end, end.end}, ",");
  } else {
    diagnostics_.error(codes::kExpected, "unexpected " + shown(head) + " after " + shown(before))
        .at(places_.of(head), "the statement is complete before this")
        .fix(earlier == AmpLexer::IMPORT ? "write import \"...\" for com.acme" : "leave it out");
  }
}

// `alow MatMul, Conv` reads as the begin of a role: names, but no 'arg' after them.
bool StatementRecovery::report_headless_role(antlr4::Parser* parser) {
  auto* role = dynamic_cast<AmpParser::RoleContext*>(enclosing(parser, AmpParser::RuleRole));
  if (role == nullptr || role->ARG() != nullptr || role->RESULT() != nullptr) return false;
  antlr4::TokenStream* input = parser->getTokenStream();
  const Token* head = role->start;
  const std::size_t here = input->index();
  const bool second_comma = input->LA(1) == AmpLexer::COMMA && input->LA(-1) == AmpLexer::COMMA;
  input->seek(head->getTokenIndex());
  const Token* before = input->LT(-1);
  const Token* before_that = before == nullptr ? nullptr : input->LT(-2);
  const Token* next = input->LT(2);
  input->seek(here);
  const bool same_line = before != nullptr && before->getLine() == head->getLine();
  if (second_comma && !same_line) return false;
  const bool next_on_line = next->getType() != Token::EOF && next->getLine() == head->getLine();
  const std::string text = head->getText();
  if (faulty_.contains(head->getLine())) {
    // One slip, one message, and that is given.
  } else if (same_line) {
    report_in_line(head, before, before_that);
  } else if (std::string word(statement_meant(text)); !word.empty() || (next_on_line && is_name(head->getType()))) {
    if (word.empty()) word = nearest(text, statement_words()).value_or("");
    const bool operator_like = head->getType() == AmpLexer::QNAME || (text[0] >= 'A' && text[0] <= 'Z');
    if (!word.empty()) {
      diagnostics_.error(codes::kUnknownStatement, "no statement begins with " + shown(head))
          .at(places_.of(head), "did you mean '" + word + "'?")
          .edit(places_.of(head), word);
    } else if (operator_like || next->getType() == AmpLexer::COMMA) {
      diagnostics_.error(codes::kExpected, "expected 'arg' or 'result' after " + shown(head) + ", found " + shown(next))
          .at(places_.of(next))
          .fix(of_operator(text));
    } else {
      diagnostics_.error(codes::kUnknownStatement, "no statement begins with " + shown(head))
          .at(places_.of(head))
          .fix(kStatements);
    }
  } else {
    diagnostics_.error(codes::kExpected, "expected 'arg' or 'result' after " + shown(head))
        .at(places_.of(head))
        .fix(of_operator(text));
  }
  told_.insert(head->getLine());
  // What stands behind the head may be the next statement already.
  input->seek(head->getTokenIndex() + 1);
  return true;
}

// What the advice says, where it is a matter of this one token.
void StatementRecovery::edit(antlr4::Parser* parser, Diagnostic& d) {
  antlr4::TokenStream* input = parser->getTokenStream();
  const Token* token = input->LT(1);
  const std::size_t type = token->getType();
  const std::string quoted = "\"" + token->getText();
  if (type == AmpLexer::ASSIGN && enclosing(parser, AmpParser::RuleCondition) != nullptr) {
    d.edit(d.span, "==");
  } else if (type == AmpLexer::EQ && enclosing(parser, AmpParser::RuleAlias) != nullptr) {
    d.edit(d.span, "=");
  } else if (d.help == "write " + quoted + "\"" && is_name(type)) {
    d.edits = {{d.span, quoted + "\""}};
  } else if (parser->getContext()->getRuleIndex() == AmpParser::RuleImportFile && is_name(type) &&
             input->LT(2)->getLine() != token->getLine()) {
    d.edits = {{d.span, quoted + (token->getText().ends_with(".amp") ? "\"" : ".amp\"")}};
  }
}

void StatementRecovery::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  if (inErrorRecoveryMode(parser)) return;
  beginErrorCondition(parser);
  const antlr4::ParserRuleContext* here = parser->getContext();
  const Token* token = e.getOffendingToken();
  if (here->getRuleIndex() == AmpParser::RuleBody && token->getType() == Token::EOF &&
      here->start->getType() == AmpLexer::LBRACE) {
    if (!end_reported_)
      diagnostics_.error(codes::kUnclosedBody, "this '{' is not closed")
          .at(places_.of(here->start))
          .fix("close it with '}'");
    end_reported_ = true;
    return;
  }
  if (auto* p = dynamic_cast<AmpParser::GraphPatternContext*>(enclosing(parser, AmpParser::RuleGraphPattern));
      p != nullptr && token->getType() == Token::EOF && p->LBRACE() != nullptr && p->RBRACE() == nullptr) {
    if (!end_reported_) {
      diagnostics_.error(codes::kUnclosedBody, "this '{' is not closed")
          .at(places_.of(p->LBRACE()->getSymbol()))
          .fix("close it with '}'");
    }
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
  // The token that was not taken, or what stands right behind it, was told of already.
  const std::size_t index = token->getTokenIndex();
  const std::size_t last = std::exchange(last_, next_line ? last_ : index);
  if (last != 0 && before != nullptr && (index == last || before->getTokenIndex() == last)) return;
  if (!next_line && token->getType() != Token::EOF) message += ", found " + shown(token);
  auto& d = diagnostics_.error(codes::kExpected, message).at(places_.of(token)).fix(advice(parser, e));
  if (!next_line && is_name(token->getType())) suggest(d, token->getText(), expected_words(parser, e));
  // What is missing at the end of a line is missing there, not at the head of the next.
  const bool at_end = next_line || token->getType() == Token::EOF;
  if (!at_end) edit(parser, d);
  if (at_end) d.at(before != nullptr ? places_.of(before) : places_.of(token)).fix("");
  told_.insert(at_end && before != nullptr ? before->getLine() : token->getLine());
  end_reported_ = end_reported_ || token->getType() == Token::EOF;
}

}  // namespace ampc::lang::syntax
