// Rule files without a mistake, which most are, read without ANTLR's runtime: it makes an object of each token and each
// node, and its automata in every process. What is read here it would read alike; anything else is left to it.
// Private to the parser.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ampc/lang/parse_tree.h"

namespace ampc::lang::syntax {

/// The text's tokens, with the one behind the last. Nothing where some letters make none, or something is to be said of
/// them: what `mend` and `check_tokens` report.
std::optional<std::vector<TreeToken>> scan(std::string_view text);

/// Takes a statement that stands in no other, once all of it is read. Its nodes are gone afterwards: a large file's
/// tree would not fit the processor's caches.
using OnStatement = std::function<void(Tree)>;

/// The tree of a text, which has to outlive it; without the statements where these are taken one by one. Nothing where
/// the text does not follow the grammar, and then what was taken counts for nothing.
std::optional<ParseTree> parse_quick(FileId file, std::string_view text, const OnStatement& on_statement = nullptr);

}  // namespace ampc::lang::syntax
