// The little of UTF-8 that places in a text need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ampc::utf8 {

/// True for every byte but the second and later ones of a code point.
constexpr bool begins(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

/// Code points in a text.
constexpr std::size_t count(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += begins(c) ? 1U : 0U;
  return n;
}

/// The offset of the first byte that is no UTF-8 (a stray or missing continuation, an overlong form, a surrogate, a
/// value beyond U+10FFFF); nothing where the text is good.
std::optional<std::size_t> first_invalid(std::string_view text);

}  // namespace ampc::utf8
