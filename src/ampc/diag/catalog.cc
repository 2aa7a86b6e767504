#include "ampc/diag/catalog.h"

#include <algorithm>

namespace ampc {
namespace {

/// The lines of `text`, indented.
std::string indented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (const std::string_view line = text.substr(0, end); !line.empty()) result += "    " + std::string(line);
    result += '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return result;
}

}  // namespace

std::vector<const CodeText*> all_codes() {
  std::vector<const CodeText*> result;
  for (const auto list : {catalog::syntax(), catalog::meaning(), catalog::models()}) {
    for (const CodeText& c : list) result.push_back(&c);
  }
  std::sort(result.begin(), result.end(), [](const CodeText* a, const CodeText* b) { return a->code < b->code; });
  return result;
}

const CodeText* find_code(std::string_view code_or_name) {
  for (const auto list : {catalog::syntax(), catalog::meaning(), catalog::models()}) {
    const auto it = std::find_if(list.begin(), list.end(),
                                 [&](const CodeText& c) { return c.code == code_or_name || c.name == code_or_name; });
    if (it != list.end()) return &*it;
  }
  return nullptr;
}

std::string explain_code(const CodeText& c) {
  std::string result = std::string(c.code) + " " + std::string(c.name) + ": " + std::string(c.title) + "\n\n" +
                       std::string(c.text) + "\n";
  if (!c.wrong.empty()) result += "\nWrong:\n\n" + indented(c.wrong);
  if (!c.right.empty()) result += "\nRight:\n\n" + indented(c.right);
  if (c.warns) result += "\nAs a warning it is turned off by -Wno-" + std::string(c.name) + ".\n";
  return result;
}

}  // namespace ampc
