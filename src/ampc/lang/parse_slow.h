// Rule files by ANTLR's lexer and parser, which know what to say of a mistake. Private to the parser.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "ampc/lang/parse_tree.h"

namespace ampc::lang::syntax {

/// Reports what is wrong. `text` is mended in place where it is plain what was meant; it has to outlive the tree.
/// Nothing where no statement is worth reading. `given_back`: tokens that were taken for the end of a statement and are
/// the head of the next: the first one is incomplete.
std::optional<ParseTree> parse_slow(FileId file, std::string& text, Diagnostics& diagnostics,
                                    std::set<std::size_t>& given_back);

}  // namespace ampc::lang::syntax
