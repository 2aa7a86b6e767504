// What can be set, in one table: the resolver checks by it, and docs/language.md shows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ampc::lang {

struct SettingText {
  std::string_view key;
  std::string_view values;  // parted by spaces; empty for the name of a level
  std::string_view preset;  // what holds where nothing says otherwise
  bool local = false;       // may stand in a scope or a block
  std::string_view text;
};

/// nullptr where nothing is set by that name.
const SettingText* find_setting(std::string_view key);

/// The values of a setting that is known.
std::vector<std::string> values_of_setting(std::string_view key);

}  // namespace ampc::lang
