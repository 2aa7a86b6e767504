// Where weights are cast, as the command line says it.
#pragma once

#include <cstdint>

namespace ampc::weights {

enum class CastOn : std::uint8_t { cpu, cuda, automatic };

}  // namespace ampc::weights
