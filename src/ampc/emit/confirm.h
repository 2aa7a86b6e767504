// Whether what a plan assumed is so.
#pragma once

#include "ampc/emit/weight_jobs.h"
#include "ampc/passes/plan.h"

namespace ampc::emit {

/// After the casts, with what they found in the weights that `plan` took for ordinary; the others are measured now.
/// Where all are ordinary, the plan's statistics are filled in.
bool confirm(Plan& plan, const WeightJobs& jobs);

}  // namespace ampc::emit
