// What each code means, for `ampc explain CODE`, and its name, for -Wno-NAME.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ampc {

struct CodeText {
  std::string_view code;   // "AMPC0302"
  std::string_view name;   // "duplicate", as stable as the code
  std::string_view title;  // a line
  bool warns = false;      // some or all of its diagnostics are warnings or notes
  std::string_view text;   // what it means and how to mend it
  std::string_view wrong;  // rules that show it, without `amp 1` where that is not the point; may be empty
  std::string_view right;  // the same, mended
};

/// All codes, in their order.
std::vector<const CodeText*> all_codes();
/// By code or by name; nullptr where there is none.
const CodeText* find_code(std::string_view code_or_name);
/// The whole explanation as a terminal shows it.
std::string explain_code(const CodeText& text);

namespace catalog {
// One list a file: what is wrong with the text of rules, with what they say, with models and the machine.
std::span<const CodeText> syntax();
std::span<const CodeText> meaning();
std::span<const CodeText> models();
}  // namespace catalog

}  // namespace ampc
