// The smallest pieces of a parse tree: words, numbers, texts, operators' names. Private to the parser.
#pragma once

#include <string>

#include "ampc/lang/ast.h"
#include "ampc/lang/parse_tree.h"

namespace ampc::lang::syntax {

class Words {
 public:
  explicit Words(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  static ast::Word word(Tree t) { return {t.str(), t.span()}; }
  static ast::Word head(Tree t) { return {t.head(), t.head_span()}; }
  ast::Number number(Tree node) const;
  /// A string's text: quotes off, \" and \\ undone.
  std::string text_of(Tree node) const;
  /// The same of a file's name, where a backslash is a letter.
  static std::string path_of(Tree node);
  /// Of the tree's first token.
  static ast::Op op(Tree t);

 protected:
  Diagnostics& diagnostics_;
};

/// `extern com.acme::FusedMoe(x: T) -> (y: T) where T in fp32, fp16`
ast::Extern build_extern(Tree t, const Words& words);

}  // namespace ampc::lang::syntax
