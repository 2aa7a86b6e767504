// The operators that the compiler knows by name, because their meaning is in no schema. All of them stand here.
#pragma once

#include <cstdint>
#include <string_view>

namespace ampc::special {

/// Changes a tensor's element type and nothing else; made by the compiler, and understood where a model has it.
inline constexpr std::string_view kCast = "Cast";
inline bool is_cast(std::string_view domain, std::string_view op) { return domain.empty() && op == kCast; }

/// Gives out what it is given: where an inlined body gives out an operand as it came.
inline constexpr std::string_view kIdentity = "Identity";

/// Holds a value that is known before the model runs: a weight in the form of a node.
inline bool is_constant(std::string_view domain, std::string_view op) { return domain.empty() && op == "Constant"; }

/// How many of a body's outputs stand before those that become the node's results: Loop's condition.
inline std::uint32_t leading_body_outputs(std::string_view domain, std::string_view op) {
  return domain.empty() && op == "Loop" ? 1 : 0;
}

}  // namespace ampc::special
