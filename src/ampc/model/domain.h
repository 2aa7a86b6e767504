// Names of operator domains.
#pragma once

#include <string_view>

namespace ampc {

/// "ai.onnx" is the long spelling of "".
constexpr std::string_view canonical(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

}  // namespace ampc
