// From the parsed message to a Model's arrays.
#pragma once

#include "ampc/model/model.h"

namespace ampc {

/// Numbers blocks, nodes and values and looks every name up once. Where nodes stand before what they read, their
/// messages are put in order and `sorted` is set: the arrays are then to be built again. False where the graph is
/// faulty (R31).
bool build_arrays(Model& m, Diagnostics& diagnostics, bool& sorted);

}  // namespace ampc
