#include "ampc/lang/foreign.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ampc::lang {

std::string_view foreign_bytes(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> list[] = {{"\x7f"
                                                                     "ELF"sv,
                                                                     "a program"},
                                                                    {"MZ"sv, "a program"},
                                                                    {"PK\x03\x04"sv, "a zip archive"},
                                                                    {"\x1f\x8b"sv, "compressed (gzip)"},
                                                                    {"\x28\xb5\x2f\xfd"sv, "compressed (zstd)"},
                                                                    {"BZh"sv, "compressed (bzip2)"},
                                                                    {"\xfd"
                                                                     "7zXZ"sv,
                                                                     "compressed (xz)"},
                                                                    {"\x89PNG"sv, "a picture"},
                                                                    {"\xff\xd8\xff"sv, "a picture"},
                                                                    {"%PDF"sv, "a PDF document"},
                                                                    {"\x93NUMPY"sv, "a numpy array"},
                                                                    {"\xff\xfe"sv, "UTF-16 text"},
                                                                    {"\xfe\xff"sv, "UTF-16 text"}};
  for (const auto& [begin, what] : list) {
    if (bytes.starts_with(begin)) return what;
  }
  // UTF-16 without a mark: every other byte of its first letters is 0.
  if (bytes.size() >= 4 && (bytes[0] == 0) != (bytes[1] == 0) && bytes[0] + bytes[1] > 0x1f &&
      (bytes[0] == 0) == (bytes[2] == 0) && (bytes[1] == 0) == (bytes[3] == 0)) {
    return "UTF-16 text";
  }
  return {};
}

namespace {

// A comment or a blank line, as often as may be, then `amp 1`: what nearly all that is read begins with.
bool begins_as_rules_do(std::string_view text) {
  while (!text.empty()) {
    if (text[0] == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text[0] == ' ' || text[0] == '\t' || text[0] == '\r' || text[0] == '\n') {
      text.remove_prefix(1);
    } else {
      break;
    }
  }
  constexpr std::string_view first = "amp 1";
  return text.starts_with(first) && (text.size() == first.size() || text[first.size()] == '\n');
}

}  // namespace

std::string_view foreign_text(std::string_view text) {
  if (begins_as_rules_do(text)) return {};
  const auto has = [&](const char* pattern) {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), "(?m)" + std::string(pattern));
  };
  if (has(R"(\A(?:\s|#[^\n]*)*amp\b[^:]*$)")) return {};
  constexpr std::pair<const char*, std::string_view> list[] = {
      {R"(\A#!)", "a script"},
      {R"(\A\s*<ir_version)", "the text form of an ONNX model"},
      {R"((?i)\A\s*<(?:!doctype\s+html|html))", "an HTML page"},
      {R"(\A\s*<(?:\?xml|[A-Za-z][\w:-]*[\s>]))", "XML"},
      {R"(\A\s*(?:\{\s*["}]|\[\s*[\["{\]]))", "JSON"},
      {R"(\A(?:\s|#[^\n]*)*\[[\w.]+\]\s*$)", "TOML"},
      {R"(\A(?:diff |index |--- \S|Index: ))", "a difference of two files"},
      {R"(\A---\s*$)", "YAML"},
      {R"(\A(?:\s|#[^\n]*)*[A-Za-z_]\w*:(?:\s|$))", "YAML"},
      {R"(^(?:from\s+\S+\s+import\s|import\s+[\w.]+\s+as\s|def\s+\w+\(|class\s+\w+[(:]|if __name__))",
       "a Python program"},
      {R"(^#include\s*[<"])", "a C++ program"},
  };
  for (const auto& [pattern, what] : list) {
    if (has(pattern)) return what;
  }
  return {};
}

}  // namespace ampc::lang
