// The smallest pieces of a parse tree: words, numbers, texts, operators' names. Private to the parser.
#pragma once

#include <string>

#include "ampc/lang/ast.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

class Words {
 public:
  Words(const Places& places, Diagnostics& diagnostics) : places_(places), diagnostics_(diagnostics) {}

  /// Of a tree of one token, which is most of them, without the stream of characters that the runtime makes of it.
  static std::string text(antlr4::ParserRuleContext* t) {
    return t->start == t->stop ? t->start->getText() : t->getText();
  }
  ast::Word word(antlr4::ParserRuleContext* t) const { return {text(t), places_.of(t)}; }
  ast::Word token(antlr4::tree::TerminalNode* t) const { return {t->getText(), span(t)}; }
  Span span(antlr4::tree::TerminalNode* t) const { return places_.of(t->getSymbol()); }
  ast::Number number(antlr4::tree::TerminalNode* node) const;
  /// A string's text: quotes off, \" and \\ undone.
  std::string text_of(antlr4::tree::TerminalNode* node) const;
  /// The same of a file's name, where a backslash is a letter.
  static std::string path_of(antlr4::tree::TerminalNode* node);
  ast::Op op(const antlr4::Token* t) const;

 protected:
  const Places& places_;
  Diagnostics& diagnostics_;
};

/// `extern com.acme::FusedMoe(x: T) -> (y: T) where T in fp32, fp16`
ast::Extern build_extern(AmpParser::ExternOperatorContext* t, const Words& words);

}  // namespace ampc::lang::syntax
