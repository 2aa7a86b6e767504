// External data: weights that lie in files beside the model.
#pragma once

#include "ampc/model/model.h"

namespace ampc::external {

/// Maps the files that tensors of `m` point into and turns each pointer into a payload. Reports a file that is missing
/// or too short and a path that leaves the model's folder; false when there was one.
bool attach(Model& m, Diagnostics& diagnostics);

}  // namespace ampc::external
