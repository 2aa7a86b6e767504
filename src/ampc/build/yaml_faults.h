// What yaml-cpp finds wrong with a text, in words for who wrote it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ampc::build {

struct YamlFault {
  std::size_t place = 0;  // byte of the text
  std::string message, fix;
};

/// Of the library's `message` about the byte at `place`: what is wrong, and where that began.
YamlFault yaml_fault(std::string_view text, std::size_t place, std::string_view message);

/// Whether the quote that `text` begins with is closed before its first line ends.
bool ends_in_its_line(std::string_view text);

}  // namespace ampc::build
