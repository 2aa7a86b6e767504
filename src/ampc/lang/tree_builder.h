// Parse tree to syntax tree. Private to the parser.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ampc/lang/ast.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

/// Fills a file's statements. Those that hold a syntax error, or end with one of the tokens of `given_back`, are left
/// out; that was reported.
void build(const std::vector<AmpParser::StatementContext*>& trees, const Places& places, Diagnostics& diagnostics,
           const std::set<std::size_t>& given_back, ast::File& file);

/// The statements of a long text, which are parsed in parts at the same time: a part ends where a statement begins for
/// sure. Nothing where the text is short, or has a fault: how the parser goes on behind one depends on all before it.
std::optional<std::vector<ast::Statement>> parse_in_parts(const std::vector<antlr4::Token*>& tokens,
                                                          const Places& places, Diagnostics& diagnostics);

/// What a graph pattern shares with other statements.
struct PatternLeaves {
  std::function<ast::Op(const antlr4::Token*)> op;
  std::function<ast::Number(antlr4::tree::TerminalNode*)> number;
  std::function<ast::Predicate(AmpParser::PredicateContext*)> predicate;
};
ast::GraphPattern build_graph_pattern(AmpParser::GraphPatternContext* tree, const Places& places,
                                      const PatternLeaves& leaves, Diagnostics& diagnostics);

}  // namespace ampc::lang::syntax
