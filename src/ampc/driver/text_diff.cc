#include "ampc/driver/text_diff.h"

#include <dtl/dtl.hpp>

#include <sstream>
#include <vector>

#include <fmt/format.h>

namespace ampc::driver {
namespace {

constexpr std::string_view kNoNewline = "\n\\ No newline at end of file";

/// Without their newlines; that the last one has none is said in it, as diff says it.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      lines.back() += kNoNewline;
      break;
    }
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

std::string unified_diff(std::string_view old_text, std::string_view new_text, std::string_view old_name,
                         std::string_view new_name) {
  dtl::Diff<std::string> diff(lines_of(old_text), lines_of(new_text));
  diff.onHuge();
  diff.compose();
  diff.composeUnifiedHunks();
  std::ostringstream out;
  diff.printUnifiedFormat(out);
  const std::string hunks = out.str();
  return hunks.empty() ? hunks : fmt::format("--- {}\n+++ {}\n{}", old_name, new_name, hunks);
}

}  // namespace ampc::driver
