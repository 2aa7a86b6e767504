// What bytes are told apart by: 128 bits of xxHash.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ampc::emit {

/// 32 hexadecimal digits: XXH3 over the XXH3 of each MiB, so that the threads share the work. The same for any number
/// of them. No cryptographic hash: it knows faults, not forgeries.
std::string content_hash(std::span<const std::byte> bytes);

}  // namespace ampc::emit
