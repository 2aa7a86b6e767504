#include "ampc/lsp/transport.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <istream>
#include <ostream>
#include <string_view>

namespace ampc::lsp {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20U;  // bytes of a message; rule files have 16 MiB at most
constexpr std::string_view kLength = "content-length:";

bool next_line(std::istream& in, std::string* line) {
  if (!std::getline(in, *line)) return false;
  if (line->ends_with('\r')) line->pop_back();
  return true;
}

bool is_length(std::string_view line) {
  return line.size() >= kLength.size() && std::equal(kLength.begin(), kLength.end(), line.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

std::optional<std::size_t> number(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find_last_not_of(' ') + 1;
  std::size_t value = 0;
  const auto [last, error] = std::from_chars(text.data() + begin, text.data() + end, value);
  return error == std::errc() && last == text.data() + end ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<Message> read_message(std::istream& in) {
  std::string line;
  // What is no header is what a faulty frame left behind.
  do {
    if (!next_line(in, &line)) return std::nullopt;
  } while (line.find(':') == std::string::npos);
  std::optional<std::size_t> length;
  bool told = false;
  for (; !line.empty();) {
    if (is_length(line)) {
      length = number(std::string_view(line).substr(kLength.size()));
      told = true;
    }
    if (!next_line(in, &line)) return std::nullopt;
  }
  if (!length) return Message{{}, told ? "Content-Length is no number of bytes" : "there is no Content-Length"};
  if (*length > kLargest) {
    in.ignore(static_cast<std::streamsize>(std::min<std::size_t>(*length, PTRDIFF_MAX)));
    return Message{{}, "the message is larger than 64 MiB"};
  }
  std::string content(*length, '\0');
  if (!in.read(content.data(), static_cast<std::streamsize>(*length))) return std::nullopt;
  Message result{Json::parse(content, nullptr, false), {}};
  if (result.body.is_discarded()) return Message{{}, "the content is no JSON"};
  return result;
}

void write_message(std::ostream& out, const Json& body) {
  // A file's name may hold bytes that are no UTF-8.
  const std::string text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  out << "Content-Length: " << text.size() << "\r\n\r\n" << text << std::flush;
}

}  // namespace ampc::lsp
