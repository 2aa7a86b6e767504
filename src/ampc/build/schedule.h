// Many jobs at a time, within a budget of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ampc::build {

/// Calls `run` with each number of `order`, at most `workers` of them at a time and such that their `needs` (bytes, by
/// number) do not pass `memory` together; one that needs more than that runs alone. Starts no more once `run` has given
/// false.
void run_all(const std::vector<std::size_t>& order, const std::vector<std::uint64_t>& needs, int workers,
             std::uint64_t memory, const std::function<bool(std::size_t)>& run);

}  // namespace ampc::build
