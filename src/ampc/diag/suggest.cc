#include "ampc/diag/suggest.h"

#include <algorithm>
#include <tuple>

namespace ampc {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

// "LayerNorm" for "LayerNormalization", "Convolution" for "Conv": the longest common beginning, then the shortest name.
std::optional<std::string> by_prefix(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kShortest = 4;  // letters; less says too little
  std::optional<std::tuple<std::size_t, std::size_t, std::string_view>> best;
  for (const std::string_view name : names) {
    const std::size_t common = std::min(name.size(), word.size());
    if (common < kShortest || (!begins_with(name, word) && !begins_with(word, name))) continue;
    const std::tuple candidate(word.size() - common, name.size(), name);
    if (!best || candidate < *best) best = candidate;
  }
  if (!best) return std::nullopt;
  return std::string(std::get<2>(*best));
}

// Letters that two words begin with alike, to the case: of an operator and an alias of the same letters, one is meant.
std::size_t exactly_common(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

bool differs_in_case(std::string_view a, std::string_view b) { return a.size() == b.size() && begins_with(a, b); }

// Is no other of the names as near to the word as this one, and this one near enough to be written unseen?
bool is_sure(std::string_view word, std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t kSurest = 2;  // letters that differ
  const auto rival = [&](const auto& as_near) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view other) {
      if (differs_in_case(other, name) && exactly_common(word, other) < exactly_common(word, name)) return false;
      return other != name && other != word && as_near(other);
    });
  };
  const std::size_t distance = edit_distance(word, name, kSurest);
  if (distance <= kSurest) {
    return !rival([&](std::string_view other) { return edit_distance(word, other, distance) <= distance; });
  }
  return begins_with(name, word) && !rival([&](std::string_view other) { return begins_with(other, word); });
}

std::vector<std::string_view> views(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    std::size_t least = row[0];
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    if (least > limit) return limit + 1;
    std::swap(before, above);
    std::swap(above, row);
  }
  return std::min(above[b.size()], limit + 1);
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> names) {
  if (word.empty() || word.size() > 100) return std::nullopt;
  // A third of the letters may be wrong; in a word of two, one may.
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::tuple<std::size_t, std::size_t, std::size_t, std::string_view>> best;
  for (const std::string_view name : names) {
    if (name == word || name.empty()) continue;
    const std::size_t distance = edit_distance(word, name, limit);
    if (distance > limit || distance >= std::max(name.size(), word.size())) continue;
    const auto common = static_cast<std::size_t>(std::mismatch(word.begin(), word.end(), name.begin(), name.end(),
                                                               [](char x, char y) { return lower(x) == lower(y); })
                                                     .first -
                                                 word.begin());
    // Of equally near ones, that which begins alike.
    const std::tuple candidate(distance, word.size() - common, word.size() - exactly_common(word, name), name);
    if (!best || candidate < *best) best = candidate;
  }
  if (!best) return by_prefix(word, names);
  return std::string(std::get<3>(*best));
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& names) {
  return nearest(word, views(names));
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  const auto name = nearest(word, names);
  return name ? "did you mean '" + *name + "'?" : std::string();
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  return did_you_mean(word, views(names));
}

bool suggest(Diagnostic& d, std::string_view word, std::span<const std::string_view> names, std::string_view before) {
  const auto name = nearest(word, names);
  if (!name) return false;
  d.label = "did you mean '" + *name + "'?";
  if (is_sure(word, *name, names)) d.edit(d.span, std::string(before) + *name);
  return true;
}

bool suggest(Diagnostic& d, std::string_view word, const std::vector<std::string>& names) {
  return suggest(d, word, views(names));
}

std::string list_of(std::span<const std::string_view> names, bool quoted, std::string_view last) {
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) result += i + 1 == names.size() ? " " + std::string(last) + " " : std::string(", ");
    if (quoted) result += '\'';
    result += names[i];
    if (quoted) result += '\'';
  }
  return result;
}

std::string list_of(const std::vector<std::string>& names, bool quoted, std::string_view last) {
  return list_of(views(names), quoted, last);
}

}  // namespace ampc
