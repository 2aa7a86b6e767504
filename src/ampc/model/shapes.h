// How large values are, as far as the model and onnx's shape inference tell.
#pragma once

#include <cstdint>
#include <vector>

#include "ampc/model/model.h"

namespace ampc {

/// What a dimension counts for where nothing tells its length (a batch, a sequence): the same everywhere, so that
/// values that share it compare rightly.
inline constexpr std::uint64_t kUnknownDimension = 64;
/// What a value counts for where nothing tells its rank, nor that of any operand of its producer.
inline constexpr std::uint64_t kUnknownElements = 4096;

/// By ValueId: the number of elements, at least 1; of a value whose shape nothing tells, the most that an operand of
/// its producer has.
/// With `infer`, onnx's inference is asked where the model itself does not tell.
std::vector<std::uint64_t> element_counts(const Model& m, bool infer);

}  // namespace ampc
