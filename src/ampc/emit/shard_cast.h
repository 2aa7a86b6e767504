// `ampc cast`: one shard of a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ampc/emit/output_file.h"
#include "ampc/emit/shard_plan.h"
#include "ampc/emit/weight_cache.h"
#include "ampc/weights/cast_router.h"

namespace ampc::emit {

/// Who casts; the bytes of the shard do not depend on it.
struct ShardCasters {
  weights::CastRouter& router;
  WeightCache* cache = nullptr;                 // of ranges that were cast already; may be null
  std::function<void(std::uint64_t)> progress;  // may be empty; is told of bytes of source, from any thread
};

/// Casts shard `index` into `file`. Reads the ranges that it is of and nothing else, from `model` and the files in its
/// folder; where the plan was made without reading weights, also what the model has beside them. Throws IoError, and
/// ShardFault where the input cannot be read, or is not what the plan was made from.
void cast_shard(const ShardPlan& plan, std::uint64_t index, const std::string& model, OutputFile& file,
                const ShardCasters& casters);
/// The files that casting shard `index` reads.
std::vector<std::string> files_of(const ShardPlan& plan, std::uint64_t index, const std::string& model);

}  // namespace ampc::emit
