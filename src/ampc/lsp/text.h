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
  /// `marked`: where the protocol counts, a byte order mark stands before the text.
  Lines(std::string_view text, Encoding encoding, bool marked = false);

  /// {"line": …, "character": …}, both from 0, of an offset in bytes.
  Json position(std::size_t offset) const;
  Json range(std::size_t begin, std::size_t end) const;
  /// The offset in bytes. Beyond a line's or the text's end it is that end, as the protocol wants it. Throws
  /// Json::exception where this is no position.
  std::size_t offset(const Json& position) const;

 private:
  std::string_view text_;
  Encoding encoding_;
  std::size_t mark_;  // how much of the first line's characters it is
  std::vector<std::size_t> starts_ = {0};
};

/// What makes one text, of which `lines` are, another: a list of TextEdit, for the lines between the first and the last
/// that differ, so that cursors and marks elsewhere stay where they are.
Json edits_between(const Lines& lines, std::string_view before, std::string_view after);

/// "file:///a%20b" as a path; any other URI as it stands.
std::string path_of(std::string_view uri);
/// A path, made absolute, as a URI.
std::string uri_of(const std::string& path);
/// Two spellings of one file have one identity.
std::string identity(const std::string& path);

}  // namespace ampc::lsp
