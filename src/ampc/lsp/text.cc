#include "ampc/lsp/text.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace ampc::lsp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "file://";

/// Bytes of the code point that begins with `first`, of good UTF-8.
std::size_t bytes(char first) {
  const auto c = static_cast<unsigned char>(first);
  return c < 0x80U ? 1 : c < 0xe0U ? 2 : c < 0xf0U ? 3 : 4;
}

/// How much of `character` a code point of so many bytes is.
std::size_t units(std::size_t bytes, Encoding encoding) {
  return encoding == Encoding::utf8 ? bytes : encoding == Encoding::utf16 && bytes == 4 ? 2 : 1;
}

int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

}  // namespace

Lines::Lines(std::string_view text, Encoding encoding, bool marked)
    : text_(text), encoding_(encoding), mark_(marked ? units(3, encoding) : 0) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) starts_.push_back(i + 1);
  }
}

Json Lines::position(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  std::size_t character = next - starts_.begin() == 1 ? mark_ : 0;
  for (std::size_t i = *(next - 1); i < offset; i += bytes(text_[i])) character += units(bytes(text_[i]), encoding_);
  return {{"line", next - starts_.begin() - 1}, {"character", character}};
}

Json Lines::range(std::size_t begin, std::size_t end) const {
  return {{"start", position(begin)}, {"end", position(end)}};
}

std::size_t Lines::offset(const Json& position) const {
  const auto line = position.at("line").get<std::uint64_t>();
  auto character = position.at("character").get<std::uint64_t>();
  if (line == 0) character -= std::min<std::uint64_t>(character, mark_);
  if (line >= starts_.size()) return text_.size();
  std::size_t at = starts_[line];
  std::size_t end = line + 1 < starts_.size() ? starts_[line + 1] : text_.size();
  while (end > at && line + 1 < starts_.size() && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  for (std::uint64_t counted = 0; at < end; at += bytes(text_[at])) {
    counted += units(bytes(text_[at]), encoding_);
    if (counted > character) break;  // within a code point is before it
  }
  return std::min(at, end);
}

Json edits_between(const Lines& lines, std::string_view before, std::string_view after) {
  if (before == after) return Json::array();
  const auto ends_line = [](std::string_view text, std::size_t at) { return at == 0 || text[at - 1] == '\n'; };
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t begin = 0;
  while (begin < shorter && before[begin] == after[begin]) ++begin;
  while (!ends_line(before, begin)) --begin;
  std::size_t tail = 0;
  while (tail < shorter - begin && before[before.size() - tail - 1] == after[after.size() - tail - 1]) ++tail;
  while (tail != 0 && !(ends_line(before, before.size() - tail) && ends_line(after, after.size() - tail))) --tail;
  return Json::array({{{"range", lines.range(begin, before.size() - tail)},
                       {"newText", after.substr(begin, after.size() - tail - begin)}}});
}

std::string path_of(std::string_view uri) {
  if (!uri.starts_with(kFile)) return std::string(uri);
  std::string_view rest = uri.substr(kFile.size());
  rest = rest.substr(std::min(rest.find('/'), rest.size()));  // a host, if there is one, is this one
  std::string path;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const int high = i + 2 < rest.size() && rest[i] == '%' ? hex(rest[i + 1]) : -1;
    const int low = high >= 0 ? hex(rest[i + 2]) : -1;
    if (low < 0) {
      path += rest[i];
      continue;
    }
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return path;
}

std::string uri_of(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  std::string uri(kFile);
  for (const char c : (error ? fs::path(path) : absolute).lexically_normal().string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

std::string identity(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? fs::path(path).lexically_normal().string() : canonical.string();
}

}  // namespace ampc::lsp
