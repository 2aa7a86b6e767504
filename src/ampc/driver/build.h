// `ampc build`: many models by a manifest.
#pragma once

#include "ampc/driver/command.h"

namespace ampc::driver {

int build_command(const Arguments& args, const Streams& streams);

}  // namespace ampc::driver
