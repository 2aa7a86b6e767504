// What a token can be in a statement, as far as one can tell after a mistake. Private to the parser.
#pragma once

#include <string>

#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

/// Verbs that are no name anywhere: wherever they stand, a statement begins.
bool is_verb(std::size_t type);
/// Statements about names: sure where a pattern follows.
bool takes_pattern(std::size_t type);
bool can_begin(std::size_t type);
bool is_name(std::size_t type);
/// Behind one of these stands one value, no list.
bool takes_value(std::size_t type);
/// As messages show it: 'MatMul', "a string", the end of the file.
std::string shown(const antlr4::Token* token);

}  // namespace ampc::lang::syntax
