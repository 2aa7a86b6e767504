// What the protocol's requests about one document are answered from, and the answers. Each is a file of its own.
#pragma once

#include <cstddef>
#include <string>

#include "ampc/lsp/text.h"
#include "ampc/lsp/workspace.h"

namespace ampc::lsp {

/// A document, and the program of which it is the root.
struct View {
  const Document& document;
  const Meaning& meaning;
  const lang::CompileOptions& options;
  const Documents& documents;
  Encoding encoding;
  Lines lines;  // of the document
};

/// A place in it, in bytes.
struct Cursor {
  const View& view;
  std::size_t offset;
};

/// textDocument/hover: null where there is nothing to tell.
Json hover(const Cursor& cursor);
/// textDocument/completion: a list of CompletionItem.
Json completion(const Cursor& cursor);
/// textDocument/definition: a list of Location.
Json definition(const Cursor& cursor);
/// textDocument/documentSymbol: a list of DocumentSymbol.
Json document_symbols(const View& view);
/// textDocument/formatting: a list of TextEdit, as `ampc fmt` lays out the text; null where its syntax is wrong.
Json formatting(const Document& document, Encoding encoding);

/// What textDocument/codeAction asks for, `quickfix` and `source.fixAll.ampc`: a list of CodeAction. The workspace is
/// up to date.
struct ActionRequest {
  const Document& document;
  const Workspace& workspace;
  const Documents& documents;
  const lang::CompileOptions& options;
  Encoding encoding;
  const Json& params;
};
Json code_actions(const ActionRequest& request);

/// textDocument/publishDiagnostics, the diagnostics of all roots by the URI of the file that they are about.
std::map<std::string, Json> diagnostics_by_uri(const Workspace& workspace, const Documents& documents,
                                               Encoding encoding);

}  // namespace ampc::lsp
