#include "ampc/lang/tree_words.h"

#include <charconv>
#include <cmath>

#include "ampc/diag/codes.h"

namespace ampc::lang::syntax {

namespace {

// Is the character at `at` escaped by an odd number of backslashes before it?
bool escaped(const std::string& raw, std::size_t at) {
  std::size_t n = 0;
  while (at > n + 1 && raw[at - 1 - n] == '\\') ++n;
  return n % 2 == 1;
}

}  // namespace

ast::Op Words::op(Tree t) {
  ast::Op result;
  const std::string text = t.head();
  result.span = t.head_span();
  const std::size_t colons = text.find("::");
  if (colons == std::string::npos) {
    result.name = text;
    return result;
  }
  result.qualified = true;
  result.domain = text.substr(0, colons);
  result.name = text.substr(colons + 2);
  if (result.domain == "ai.onnx") result.domain.clear();
  return result;
}

std::string Words::text_of(Tree node) const {
  const std::string raw = node.str();
  const Span place = node.span();
  std::string result;
  std::size_t end = raw.size();
  bool sound = true;
  if (end > 1 && raw.back() == '"' && !(end > 2 && raw[end - 2] == '\\' && escaped(raw, end - 1))) --end;
  for (std::size_t i = 1; i < end; ++i) {
    if (raw[i] != '\\' || i + 1 >= end) {
      result += raw[i];
      continue;
    }
    ++i;
    if (raw[i] != '"' && raw[i] != '\\' && sound) {
      sound = false;  // once a string
      const auto at = static_cast<std::uint32_t>(i);
      diagnostics_.error(codes::kBadEscape, std::string("'\\") + raw[i] + "' is no escape")
          .at({place.file, place.begin + at - 1, place.begin + at + 1})
          .fix(
              "in a string, \\\\ stands for \\ and \\\" for \"; a regular expression stands between slashes: "
              "/a\\.b/");
    }
    if (raw[i] != '"' && raw[i] != '\\') result += '\\';
    result += raw[i];
  }
  return result;
}

std::string Words::path_of(Tree node) {
  std::string text = node.str().substr(1);
  if (text.ends_with('"')) text.pop_back();
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\')) ++i;
    path += text[i];
  }
  return path;
}

ast::Number Words::number(Tree node) const {
  ast::Number result;
  result.text = node.str();
  result.span = node.span();
  result.percent = result.text.ends_with('%');
  const char* begin = result.text.data();
  const char* end = begin + result.text.size() - (result.percent ? 1 : 0);
  const auto read = std::from_chars(begin, end, result.value);
  if (read.ec != std::errc() || !std::isfinite(result.value)) {
    diagnostics_.error(codes::kBadNumber, "the number " + result.text + " is out of range")
        .at(result.span)
        .fix("numbers are those of a double: 65504, 0.5, 1e-3");
    result.value = 0;
  }
  result.whole = result.text.find_first_of(".eE%") == std::string::npos;
  return result;
}

}  // namespace ampc::lang::syntax
