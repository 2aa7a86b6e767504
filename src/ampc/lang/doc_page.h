// `ampc doc`: what a rule file says of itself, as Markdown.
#pragma once

#include <functional>
#include <string>

#include "ampc/lang/ast.h"

namespace ampc::lang {

struct DocLinks {
  std::string name;  // of the file, as the page shows it
  std::string file;  // of the file, as the page's links name it
  /// The page of the file that an import names, as links name it; empty where there is none.
  std::function<std::string(const std::string& import)> page;
};

/// The page of a file without mistakes: what is said of the file, then its statements by their kind, each as it is
/// written, with its place and what is said of it.
std::string doc_page(const ast::File& file, const SourceMap& sources, const DocLinks& links);

}  // namespace ampc::lang
