// Carries a plan out on the model's messages: names, casts, types, weights.
#pragma once

#include "ampc/emit/weight_jobs.h"
#include "ampc/passes/plan.h"

namespace ampc::emit {

/// Changes `m.proto`. Weights of some size become jobs, small ones are cast at once. The model's names are no longer
/// valid afterwards.
void rewrite(Model& m, const Plan& plan, WeightJobs& jobs);

}  // namespace ampc::emit
