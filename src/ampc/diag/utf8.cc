#include "ampc/diag/utf8.h"

namespace ampc::utf8 {

std::optional<std::size_t> first_invalid(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    std::size_t more = 0;
    std::uint32_t value = 0;
    std::uint32_t least = 0;  // below it the form is overlong
    if ((lead & 0xe0U) == 0xc0U) {
      more = 1, value = lead & 0x1fU, least = 0x80;
    } else if ((lead & 0xf0U) == 0xe0U) {
      more = 2, value = lead & 0x0fU, least = 0x800;
    } else if ((lead & 0xf8U) == 0xf0U) {
      more = 3, value = lead & 0x07U, least = 0x10000;
    } else {
      return i;
    }
    if (text.size() - i <= more) return i;
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0U) != 0x80U) return i;
      value = (value << 6U) | (next & 0x3fU);
    }
    if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return i;
    i += more + 1;
  }
  return std::nullopt;
}

}  // namespace ampc::utf8
