#include "ampc/lang/rule_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ampc/diag/codes.h"
#include "ampc/diag/utf8.h"

namespace ampc::lang {

namespace {

constexpr std::uintmax_t kLargest = 16U << 20U;  // bytes; the largest rule files are a thousandth of it

RuleFile fault(std::string_view code, std::string text, std::string help = {}) {
  RuleFile result;
  result.code = code;
  result.fault = std::move(text);
  result.help = std::move(help);
  return result;
}

// A ModelProto begins with its first field, ir_version, a small number.
bool looks_like_model(const std::string& text) {
  return text.size() > 2 && text[0] == '\x08' && text[1] > 0 && text[1] < 32;
}

RuleFile model() {
  return fault(codes::kNotRules, "is an ONNX model, not a rule file", "the rules come first: ampc RULES MODEL");
}

}  // namespace

RuleFile read_rule_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return fault(codes::kNoSuchFile, "does not exist");
  if (fs::is_directory(status)) return fault(codes::kNotRules, "is a folder, not a rule file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return fault(codes::kUnreadable, "cannot be read: " + std::string(std::strerror(errno)));
  std::string text;
  std::string chunk(std::size_t{64} << 10U, '\0');
  while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), in.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() == static_cast<std::size_t>(in.gcount()) && looks_like_model(text)) return model();
    if (text.size() > kLargest) return fault(codes::kNotRules, "is too large for a rule file (over 16 MiB)");
  }
  if (in.bad()) return fault(codes::kUnreadable, "cannot be read: " + std::string(std::strerror(errno)));
  return rule_text(std::move(text));
}

RuleFile rule_text(std::string text) {
  if (looks_like_model(text)) return model();
  if (text.size() > kLargest) return fault(codes::kNotRules, "is too large for a rule file (over 16 MiB)");
  const bool marked = text.starts_with("\xef\xbb\xbf");
  if (marked) text.erase(0, 3);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fault(codes::kEmptyFile, "is empty", "a rule file begins with 'amp 1'");
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos) {
    return fault(codes::kNotRules, "is not a text file (byte " + std::to_string(nul) + " is 0)");
  }
  if (const auto bad = utf8::first_invalid(text)) {
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*bad), '\n') + 1;
    return fault(codes::kNotRules,
                 "is not UTF-8 text (line " + std::to_string(line) + ", byte " + std::to_string(*bad) + ")",
                 "save it as UTF-8");
  }
  RuleFile result;
  result.ok = true;
  result.byte_order_mark = marked;
  result.text = std::move(text);
  return result;
}

}  // namespace ampc::lang
