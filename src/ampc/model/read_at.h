// Reads files past their mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ampc {

/// Reads bytes from `offset` on of an open file. Gives how many were read: fewer than asked for where the file ends,
/// when errno is 0, or cannot be read, when it says why.
std::size_t read_at(int fd, std::uint64_t offset, std::span<std::byte> into);

}  // namespace ampc
