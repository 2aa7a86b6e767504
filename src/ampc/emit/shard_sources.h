// The files that a plan was made from, and what tells that they are still what they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ampc/emit/shard_plan.h"
#include "ampc/model/mapped_file.h"

namespace ampc::emit {

class ShardSources {
 public:
  /// `model` is where the model lies now, its data beside it.
  ShardSources(const ShardPlan& plan, const std::string& model) : plan_(plan), model_(model) {}

  std::string path(std::uint64_t index) const;
  /// Opened now, if it is not yet; one thread at a time. Throws ShardFault where it cannot be read, or has another size
  /// than when the plan was made.
  const MappedFile& open(std::uint64_t index);
  /// One that is open. From any thread.
  const MappedFile& at(std::uint64_t index) const { return files_.at(index); }
  /// Whether one that is open has been written to since.
  bool changed() const;

 private:
  const ShardPlan& plan_;
  const std::string& model_;
  std::map<std::uint64_t, MappedFile> files_;
};

/// Hash of the model's bytes that no job reads: nodes, names, shapes. Throws ShardFault where they cannot be read.
std::string frame_hash(const ShardPlan& plan, const MappedFile& model);

/// Bytes of a job's source that stand for those around them.
struct Sample {
  std::uint64_t job = 0, begin = 0, size = 0;
  std::size_t slice = 0;  // that has them
};
/// Of each range of the shard the first and the last bytes, and some every 4 MiB between, in the order of its slices.
std::vector<Sample> samples_of(const ShardPlan& plan, const ShardPlan::Shard& shard);

/// Hash of all that the shard is cast from, as ShardFile has it. Throws ShardFault.
std::string source_hash(const ShardPlan& plan, const ShardPlan::Shard& shard, ShardSources& sources);

/// Reads `out.size()` bytes at `offset`, without the file's mapping, whose pages would count as memory of this process.
/// Throws ShardFault.
void read_at(const MappedFile& file, std::uint64_t offset, std::span<std::byte> out);

}  // namespace ampc::emit
