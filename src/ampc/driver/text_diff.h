// The difference of two texts, as `diff -u` prints it.
#pragma once

#include <string>
#include <string_view>

namespace ampc::driver {

/// Empty where they are equal. `old_name` and `new_name` are for the two head lines.
std::string unified_diff(std::string_view old_text, std::string_view new_text, std::string_view old_name,
                         std::string_view new_name);

}  // namespace ampc::driver
