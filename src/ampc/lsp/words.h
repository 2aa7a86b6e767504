// What the language's words mean, for hovering and completion.
#pragma once

#include <span>
#include <string_view>

namespace ampc::lsp {

struct Word {
  std::string_view word;
  std::string_view meaning;  // Markdown
};

struct Setting {
  std::string_view key;  // "dtype", "on conflict"
  std::string_view meaning;
  std::span<const Word> values;
};

/// Words that begin a statement, apart from settings; in a level's body there are `default`, `weights` and `off`.
std::span<const Word> statement_words();
std::span<const Word> level_words();
/// All others that the grammar has, apart from settings and from types.
std::span<const Word> other_words();
/// Properties and functions of conditions; of a weight's, its measures.
std::span<const Word> condition_words();
std::span<const Word> weight_measures();
/// What an operand is to an optimizer.
std::span<const Word> optimizer_parts();
/// With `default` and `weights`, whose values are those of a level.
std::span<const Setting> settings();
/// nullptr where no setting is called so.
const Setting* find_setting(std::string_view key);
/// In any of the lists, or a setting's first word or value behind it; empty where the word is none of the language.
std::string_view meaning_of(std::string_view word);

}  // namespace ampc::lsp
