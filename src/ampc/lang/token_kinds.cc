#include "ampc/lang/token_kinds.h"

namespace ampc::lang::syntax {

using antlr4::Token;

bool is_verb(std::size_t type) {
  switch (type) {
    case AmpLexer::IMPORT:
    case AmpLexer::FOLLOW:
    case AmpLexer::ALLOW:
    case AmpLexer::DENY:
    case AmpLexer::UNSUPPORTED:
    case AmpLexer::LEAVE:
    case AmpLexer::BOUNDED:
    case AmpLexer::COMMUTES:
    case AmpLexer::MOVES:
    case AmpLexer::OVERRIDE:
    case AmpLexer::SEALED:
    case AmpLexer::ALIAS:
      return true;
    default:
      return false;
  }
}

bool takes_pattern(std::size_t type) {
  return type == AmpLexer::TENSOR || type == AmpLexer::NODE || type == AmpLexer::GUARD || type == AmpLexer::SCOPE ||
         type == AmpLexer::BLOCK || type == AmpLexer::WEIGHT || type == AmpLexer::BACKWARD;
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
    case AmpLexer::MASTER:
    case AmpLexer::COLLECTIVE:
    case AmpLexer::OPTIMIZER:
    case AmpLexer::ON:
    case AmpLexer::PATTERN:
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

bool takes_value(std::size_t type) {
  switch (type) {
    case AmpLexer::KEEP:
    case AmpLexer::STORE:
    case AmpLexer::DTYPE:
    case AmpLexer::LEVEL:
    case AmpLexer::GRAY:
    case AmpLexer::PROMOTE:
    case AmpLexer::REWRITE:
    case AmpLexer::OVERFLOWING:
    case AmpLexer::UNDERFLOWING:
    case AmpLexer::FUNCTIONS:
    case AmpLexer::SHARED:
    case AmpLexer::MASTER:
    case AmpLexer::CONFLICT:
    case AmpLexer::DEFAULT:
    case AmpLexer::WEIGHTS:
      return true;
    default:
      return false;
  }
}

std::string shown(const Token* token) {
  if (token->getType() == Token::EOF) return "the end of the file";
  std::string text = token->getText();
  if (token->getType() == AmpLexer::STRING || token->getType() == AmpLexer::REGEX) return text;
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return "'" + text + "'";
}

}  // namespace ampc::lang::syntax
