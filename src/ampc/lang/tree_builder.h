// Parse tree to syntax tree. Private to the parser.
#pragma once

#include <cstddef>
#include <functional>
#include <set>

#include "ampc/lang/ast.h"
#include "ampc/lang/parse_tree.h"

namespace ampc::lang::syntax {

/// Fills a file's statements. Those that hold a syntax error, or end with one of the tokens of `given_back`, are left
/// out; that was reported.
void build(const ParseTree& tree, Diagnostics& diagnostics, const std::set<std::size_t>& given_back, ast::File& file);

/// Adds one statement of a tree without faults.
void build_statement(Tree statement, Diagnostics& diagnostics, ast::File& file);

/// What a graph pattern shares with other statements.
struct PatternLeaves {
  std::function<ast::Op(Tree)> op;
  std::function<ast::Number(Tree)> number;
  std::function<ast::Predicate(Tree)> predicate;
};
ast::GraphPattern build_graph_pattern(Tree tree, const PatternLeaves& leaves, Diagnostics& diagnostics);

}  // namespace ampc::lang::syntax
