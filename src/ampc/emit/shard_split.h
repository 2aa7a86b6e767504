// From a model that has been rewritten to a plan for several machines.
#pragma once

#include <cstdint>
#include <optional>

#include "ampc/emit/shard_plan.h"
#include "ampc/emit/weight_jobs.h"
#include "ampc/passes/plan.h"

namespace ampc::emit {

struct SplitOptions {
  std::uint64_t shards = 1;
  bool as_it_is = false;  // the output is the input's own bytes
  bool hashed = true;     // all is read, and whoever casts a shard can tell any other byte; else by a sample
};

/// The payloads of `m`, as `jobs` has them, in that many shards of about as many bytes read and written. `data` is
/// where `externalise` has put some of them. Changes the markers in `m`. Equal payloads become one job.
ShardPlan split(Model& m, const WeightJobs& jobs, const Plan& plan, std::optional<DataLayout> data,
                const SplitOptions& options);

}  // namespace ampc::emit
