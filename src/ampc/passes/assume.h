// Weights that need not be measured before they are cast.
#pragma once

#include <cstdint>
#include <optional>

#include "ampc/passes/passes.h"

namespace ampc::passes {

/// Of `count` elements of a weight, how many may become zero without a word.
std::uint64_t most_underflow(const PassContext& c, std::uint64_t count);

/// The fp32 weight `v`, read as `low`, as one that nothing is known of but that it is ordinary: large enough for a
/// second reading to cost something, in a mapped file, of interest to no rule, and ordinary where it was tried. Else
/// nothing.
std::optional<Assumed> assume_ordinary(const PassContext& c, ValueId v, ElemType low);

}  // namespace ampc::passes
