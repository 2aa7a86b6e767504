// What `ampc cast` has made of a shard: its results, one behind the other, and what they are of.
#pragma once

#include <cstdint>
#include <functional>
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
  std::map<std::uint64_t, weights::Stats> stats;  // by measured job: what casting its part found; no more than counts
};

/// Casts shard `index` into `file`. Reads the ranges that it is of and nothing else, from `model` and the files in its
/// folder. `progress` may be empty; it is told of bytes of source, from any thread. Throws IoError, and ShardFault
/// where the input cannot be read, or is not what the plan was made from.
void cast_shard(const ShardPlan& plan, std::uint64_t index, const std::string& model, OutputFile& file,
                const std::function<void(std::uint64_t)>& progress);
/// The files that casting shard `index` reads.
std::vector<std::string> files_of(const ShardPlan& plan, std::uint64_t index, const std::string& model);

/// What stands at the end of a mapped shard. Throws ShardFault where it is none; its results are not looked at.
ShardFile read_shard(const MappedFile& file);

/// Reads `out.size()` bytes at `offset`, without the file's mapping, whose pages would count as memory of this process.
/// Throws ShardFault.
void read_at(const MappedFile& file, std::uint64_t offset, std::span<std::byte> out);

}  // namespace ampc::emit
