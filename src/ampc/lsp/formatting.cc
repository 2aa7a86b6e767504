// textDocument/formatting: what `ampc fmt` does.
#include <utility>

#include "ampc/lang/format.h"
#include "ampc/lang/rule_file.h"
#include "ampc/lsp/feature.h"

namespace ampc::lsp {

Json formatting(const Document& document, Encoding encoding) {
  lang::RuleFile file = lang::rule_text(document.text);
  if (!file.ok) return nullptr;
  SourceMap sources;
  Diagnostics diagnostics;
  const auto after = lang::format(sources.add(document.path, std::move(file.text)), sources, diagnostics);
  if (!after) return nullptr;
  return edits_between(document.lines(encoding), document.text, *after);
}

}  // namespace ampc::lsp
