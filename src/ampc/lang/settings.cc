#include "ampc/lang/settings.h"

#include <algorithm>
#include <sstream>

namespace ampc::lang {
namespace {

// tests/e2e/language.py reads this table: five fields an entry.
constexpr SettingText kSettings[] = {
    {"dtype", "fp16 bf16", "fp16", true, "The low data type."},
    {"level", "", "the only level there is", true, "The level, as `level NAME { ... }` defines it."},
    {"promote", "on off", "off", true, "One fp32 operand keeps an operator that follows in fp32."},
    {"follow", "any last", "any", true, "Whether all producers are followed, or the last one that decides."},
    {"gray", "local cut", "local", true,
     "Whether what follows is decided one by one, or all at once by the fewest bytes cast."},
    {"io", "keep low", "keep", false, "Types of the model's inputs and outputs."},
    {"overflow", "keep clamp inf error", "keep", false,
     "A weight that the low type cannot hold: it stays fp32, becomes the largest number, becomes infinite, or is an "
     "error."},
    {"underflow", "keep flush", "keep", false, "A small constant that would vanish: it stays fp32, or vanishes."},
    {"shared", "fp32 low both", "fp32", false, "A weight that is read low and in fp32: how it is stored."},
    {"functions", "keep inline", "keep", false,
     "Functions of the model: a copy for each kind of call, or their bodies in place."},
    {"master", "keep rounded", "keep", false, "Parameters that are trained: as they are, or rounded to the low type."},
    {"on conflict", "node store error", "node", false,
     "A kept operand that its schema ties to others by one type: the node stays fp32, the weight alone is stored in "
     "fp32, "
     "or it is an error."},
    {"rewrite creators", "on off", "on", false, "Operators that make a value of nothing make it low themselves."},
    {"rewrite moved", "on off", "off", false, "Casts change places with operators that only move elements."},
    {"rewrite redundant", "on off", "on", false, "Casts of the model's own that change nothing are read past."},
};

}  // namespace

const SettingText* find_setting(std::string_view key) {
  const auto* at =
      std::find_if(std::begin(kSettings), std::end(kSettings), [&](const SettingText& s) { return s.key == key; });
  return at == std::end(kSettings) ? nullptr : at;
}

std::vector<std::string> values_of_setting(std::string_view key) {
  std::vector<std::string> result;
  const SettingText* setting = find_setting(key);
  if (setting == nullptr) return result;
  std::istringstream in{std::string(setting->values)};
  for (std::string word; in >> word;) result.push_back(word);
  return result;
}

}  // namespace ampc::lang
