// `functions inline`: bodies in place of their calls.
#pragma once

#include "ampc/diag/diagnostic.h"
#include "ampc/model/model.h"

namespace ampc::emit {

/// Puts the bodies that stand in calls (model/functions.h) where the calls are. Warns of a function that imports
/// another version of a domain than what it is called from, and leaves its calls.
void inline_calls(Model& m, Diagnostics& diagnostics);

}  // namespace ampc::emit
