// Codes of `ampc build`.
#pragma once

#include <string_view>

namespace ampc::codes {

inline constexpr std::string_view kManifest = "AMPC2020";  // a manifest that is wrong

}  // namespace ampc::codes
