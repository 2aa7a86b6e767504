// A small file's bytes.
#pragma once

#include <optional>
#include <string>

namespace ampc {

/// Nothing where it cannot be read, as a folder cannot; errno says why then.
std::optional<std::string> read_whole(const std::string& path);

}  // namespace ampc
