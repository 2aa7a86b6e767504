// What a text is that is no rule file.
#pragma once

#include <string_view>

namespace ampc::lang {

/// "a program", "a zip archive": what bytes are by their first ones; empty where that is not known.
std::string_view foreign_bytes(std::string_view bytes);

/// "JSON", "a Python program": what a text is that does not begin as a rule file does; empty where that is not known,
/// or it does.
std::string_view foreign_text(std::string_view text);

}  // namespace ampc::lang
