#include "ampc/driver/size_option.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace ampc::driver {
namespace {

/// Bits to shift by: K, M, G and T, with B, i or iB behind them or without; -1 for any other.
int shift_of(std::string_view unit) {
  std::string small;
  for (const char c : unit) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (small.empty() || small == "b") return 0;
  const std::size_t which = std::string_view("kmgt").find(small[0]);
  const std::string rest = small.substr(1);
  if (which == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "i" || rest == "ib")) return -1;
  return 10 * (static_cast<int>(which) + 1);
}

}  // namespace

std::string read_size(std::string& text, std::uint64_t least) {
  constexpr std::string_view kInstead = "write a number of bytes, or one with K, M, G or T behind it, such as 4G";
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, fault] = std::from_chars(text.data(), last, number);
  std::string_view unit(end, static_cast<std::size_t>(last - end));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const int shift = shift_of(unit);
  if (fault == std::errc::invalid_argument || shift < 0) return fmt::format("'{}' is no size; {}", text, kInstead);
  const auto bits = static_cast<unsigned>(shift);
  if (fault != std::errc() || number > std::numeric_limits<std::uint64_t>::max() >> bits) {
    return fmt::format("'{}' is more bytes than can be counted; write a smaller size, such as 4G", text);
  }
  number <<= bits;
  if (number < least) return fmt::format("'{}' is too little; {}", text, kInstead);
  text = std::to_string(number);
  return {};
}

CLI::Option* add_size_option(CLI::App& app, const std::string& name, std::uint64_t& place,
                             const std::string& description, std::uint64_t least) {
  return app.add_option(name, place, description)
      ->transform(CLI::Validator([least](std::string& text) { return read_size(text, least); }, ""))
      ->type_name("SIZE");
}

}  // namespace ampc::driver
