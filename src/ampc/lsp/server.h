// A language server for rule files: the Language Server Protocol 3.17 over a pair of streams.
#pragma once

#include <iosfwd>
#include <string>

#include "ampc/lang/rule_set.h"

namespace ampc::lsp {

/// Serves one client until it says `exit` or its stream ends. Messages that are none, requests that are unknown, files
/// that do not parse: each is answered, and the server goes on. True where the client said `shutdown` before it left.
bool serve(std::istream& in, std::ostream& out, const lang::CompileOptions& options, const std::string& version);

}  // namespace ampc::lsp
