// R29: functions again, of the bodies that stand in their calls (model/functions.h).
//
// Calls whose bodies came out alike share one function; it bears the function's own name where there is no
// other and no call needs the original. A call whose body came out as it was calls the original.
#pragma once

#include "ampc/diag/diagnostic.h"
#include "ampc/model/model.h"
#include "ampc/passes/plan.h"

namespace ampc::emit {

/// After rewrite(). With `inline_them`, bodies are put in place of their calls instead, but where a function imports
/// another version of a domain than the model does: then a warning says so.
void collapse_calls(Model& m, const Plan& plan, bool inline_them, Diagnostics& diagnostics);

}  // namespace ampc::emit
