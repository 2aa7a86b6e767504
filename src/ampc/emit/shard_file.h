// What `ampc cast` has made of a shard: its results, one behind the other, and what they are of.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ampc/emit/output_file.h"
#include "ampc/emit/shard_plan.h"
#include "ampc/model/mapped_file.h"

namespace ampc::emit {

struct ShardFile {
  std::string plan;                               // the plan's id
  std::uint64_t index = 0;                        // in its shards
  std::uint64_t size = 0;                         // bytes of the results
  std::string hash;                               // of the slices' results, as PieceHashes has it
  std::string source;                             // of what they were made from
  std::map<std::uint64_t, weights::Stats> stats;  // by measured job: what casting its part found; no more than counts
};

/// What stands at the end of a shard, behind its results.
std::string shard_tail(const ShardFile& shard);

/// What stands at the end of a mapped shard. Throws ShardFault where it is none; its results are not looked at.
ShardFile read_shard(const MappedFile& file);

}  // namespace ampc::emit
