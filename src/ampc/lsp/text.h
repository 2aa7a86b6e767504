// Places in a text as the protocol counts them, and files as it names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/lsp/transport.h"

namespace ampc::lsp {

/// What a position's `character` counts.
enum class Encoding : std::uint8_t { utf8, utf16, utf32 };

/// A text's lines, which end with \n, \r\n or \r. Refers to the text.
class Lines {
 public:
  Lines(std::string_view text, Encoding encoding);

  /// {"line": …, "character": …}, both from 0, of an offset in bytes.
  Json position(std::size_t offset) const;
  Json range(std::size_t begin, std::size_t end) const;
  /// The offset in bytes. Beyond a line's or the text's end it is that end, as the protocol wants it. Throws
  /// Json::exception where this is no position.
  std::size_t offset(const Json& position) const;

 private:
  std::string_view text_;
  Encoding encoding_;
  std::vector<std::size_t> starts_ = {0};
};

/// "file:///a%20b" as a path; any other URI as it stands.
std::string path_of(std::string_view uri);
/// A path, made absolute, as a URI.
std::string uri_of(const std::string& path);
/// Two spellings of one file have one identity.
std::string identity(const std::string& path);

}  // namespace ampc::lsp
