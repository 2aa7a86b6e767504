// textDocument/formatting: what `ampc fmt` does.
#include <algorithm>

#include "ampc/lang/format.h"
#include "ampc/lang/rule_file.h"
#include "ampc/lsp/feature.h"

namespace ampc::lsp {

Json formatting(const Document& document, Encoding encoding) {
  lang::RuleFile file = lang::rule_text(document.text);
  if (!file.ok) return nullptr;
  SourceMap sources;
  Diagnostics diagnostics;
  const std::string& before = document.text;
  const auto laid_out = lang::format(sources.add(document.path, std::move(file.text)), sources, diagnostics);
  if (!laid_out) return nullptr;
  const std::string& after = *laid_out;
  if (before == after) return Json::array();
  // Only the lines between the first and the last that change: cursors and marks elsewhere stay where they are.
  const auto ends_line = [](const std::string& text, std::size_t at) { return at == 0 || text[at - 1] == '\n'; };
  const std::size_t shorter = std::min(before.size(), after.size());
  auto begin = static_cast<std::size_t>(
      std::mismatch(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shorter), after.begin()).first -
      before.begin());
  while (!ends_line(before, begin)) --begin;
  std::size_t tail = 0;
  while (tail < shorter - begin && before[before.size() - tail - 1] == after[after.size() - tail - 1]) ++tail;
  while (tail != 0 && !(ends_line(before, before.size() - tail) && ends_line(after, after.size() - tail))) --tail;
  const Lines lines(before, encoding);
  return Json::array({{{"range", lines.range(begin, before.size() - tail)},
                       {"newText", after.substr(begin, after.size() - tail - begin)}}});
}

}  // namespace ampc::lsp
