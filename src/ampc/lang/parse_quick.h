// Rule files without a mistake, which most are, read without ANTLR's runtime: it makes an object of each token and each
// node, and its automata in every process. What is read here it would read alike; anything else is left to it.
// Private to the parser.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ampc/lang/parse_tree.h"

namespace ampc::lang::syntax {

/// The text's tokens, with the one behind the last. Nothing where some letters make none, or something is to be said of
/// them: what `mend` and `check_tokens` report.
std::optional<std::vector<TreeToken>> scan(std::string_view text);

/// The tree of a text, which has to outlive it. Nothing where the text does not follow the grammar.
std::optional<ParseTree> parse_quick(FileId file, std::string_view text);

/// Walks the grammar's table. Nothing where the tokens do not follow it.
std::optional<std::vector<TreeNode>> walk(const std::vector<TreeToken>& tokens);

}  // namespace ampc::lang::syntax
