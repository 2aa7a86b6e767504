// The nearest of a list of names, for "did you mean".
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/diag/diagnostic.h"

namespace ampc {

/// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. A letter that differs
/// in case alone costs nothing. Gives up beyond `limit` and returns limit + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

/// The name nearest to `word` where one is near enough to be what was meant; of equally near ones the first in order.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> names);
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& names);

/// "did you mean 'MatMul'?", or "" where nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names);
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

/// Puts that question at the diagnostic's caret. Where no other name is as near, the diagnostic gets the edit too,
/// which writes `before` and the name over its span. False where nothing is near.
bool suggest(Diagnostic& d, std::string_view word, std::span<const std::string_view> names,
             std::string_view before = {});
bool suggest(Diagnostic& d, std::string_view word, const std::vector<std::string>& names);

/// "a", "a or b", "a, b or c". Each in quotes where `quoted`.
std::string list_of(std::span<const std::string_view> names, bool quoted = true, std::string_view last = "or");
std::string list_of(const std::vector<std::string>& names, bool quoted = true, std::string_view last = "or");

}  // namespace ampc
