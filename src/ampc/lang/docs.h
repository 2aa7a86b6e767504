// What `///` says of the statement below it, and of a file. Private to the parser.
#pragma once

#include <string>

#include "ampc/lang/ast.h"
#include "ampc/lang/parse_tree.h"

namespace ampc::lang::syntax {

/// Gives the statements of `file`, those in bodies too, what is said of them. What stands above `amp 1`, or below it
/// with a blank line behind, is said of the file, and becomes the version's. A warning where nothing follows.
void attach_docs(ast::File& file, const ParseTree& tree, Diagnostics& diagnostics);

}  // namespace ampc::lang::syntax
