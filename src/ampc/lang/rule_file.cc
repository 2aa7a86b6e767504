#include "ampc/lang/rule_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/diag/utf8.h"
#include "ampc/lang/foreign.h"

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

constexpr std::string_view kWhatItIs = "a rule file is a text in UTF-8 that begins with 'amp 1'";

std::string line_of(const std::string& text, std::size_t at) {
  return std::to_string(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1);
}

// A rule file of a name like this one, in the same folder.
std::string near_miss(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".amp") names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const auto name = nearest(fs::path(path).filename().string(), names);
  return name ? "did you mean '" + fs::path(path).replace_filename(*name).string() + "'?"
              : "the rule file comes first: ampc RULES MODEL";
}

// A ModelProto begins with its first field, ir_version, a small number.
bool looks_like_model(const std::string& text) {
  return text.size() > 2 && text[0] == '\x08' && text[1] > 0 && text[1] < 32;
}

RuleFile model() {
  return fault(codes::kNotRules, "is an ONNX model, not a rule file", "the rules come first: ampc RULES MODEL");
}

const UnsavedFiles::Find* unsaved = nullptr;

}  // namespace

UnsavedFiles::UnsavedFiles(Find find) : find_(std::move(find)) { unsaved = &find_; }

UnsavedFiles::~UnsavedFiles() { unsaved = nullptr; }

RuleFile read_rule_file(const std::string& path) {
  if (unsaved != nullptr) {
    if (auto text = (*unsaved)(path)) return rule_text(std::move(*text));
  }
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return fault(codes::kNoSuchFile, "does not exist", near_miss(path));
  if (fs::is_directory(status)) return fault(codes::kNotRules, "is a folder, not a rule file", "name a file in it");
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
  if (const std::string_view what = foreign_bytes(text); !what.empty()) {
    return fault(codes::kNotRules,
                 "is " + std::string(what) + (what == "UTF-16 text" ? ", not UTF-8" : ", not a rule file"),
                 what == "UTF-16 text" ? "save it as UTF-8" : std::string(kWhatItIs));
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos) {
    return fault(codes::kNotRules,
                 "is not a text file (line " + line_of(text, nul) + ", byte " + std::to_string(nul) + " is 0)",
                 std::string(kWhatItIs));
  }
  if (const auto bad = utf8::first_invalid(text)) {
    return fault(codes::kNotRules,
                 "is not UTF-8 text (line " + line_of(text, *bad) + ", byte " + std::to_string(*bad) + ")",
                 "save it as UTF-8");
  }
  if (const std::string_view what = foreign_text(text); !what.empty()) {
    return fault(codes::kNotRules, "is " + std::string(what) + ", not a rule file", std::string(kWhatItIs));
  }
  RuleFile result;
  result.ok = true;
  result.byte_order_mark = marked;
  result.text = std::move(text);
  return result;
}

}  // namespace ampc::lang
