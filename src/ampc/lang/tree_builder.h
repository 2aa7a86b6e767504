// Parse tree to syntax tree. Private to the parser.
#pragma once

#include "ampc/lang/ast.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

/// Statements that hold a syntax error are left out; it was reported.
std::vector<ast::Statement> build(const std::vector<AmpParser::StatementContext*>& trees, const Places& places,
                                  Diagnostics& diagnostics);

}  // namespace ampc::lang::syntax
