// What `ampc plan` hands to `ampc cast` and `ampc link`: which bytes of the input become which bytes of the output, cut
// into shards, and the output without its weights.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ampc/emit/data_file.h"
#include "ampc/weights/caster.h"

namespace ampc::emit {

/// A plan or a shard that cannot be used, or does not fit what it is used with. what() is the message.
class ShardFault : public std::runtime_error {
 public:
  ShardFault(std::string_view code, std::string place, const std::string& message, std::string fix)
      : std::runtime_error(message), code_(code), place_(std::move(place)), fix_(std::move(fix)) {}
  std::string_view code() const { return code_; }
  const std::string& place() const { return place_; }  // the file
  const std::string& fix() const { return fix_; }      // what to do instead

 private:
  std::string_view code_;
  std::string place_, fix_;
};

struct ShardPlan {
  /// A file that weights lie in: the model itself, whose location is empty, or one below its folder.
  struct Source {
    std::string location;
    std::uint64_t size = 0;  // bytes
  };
  enum class Kind : std::uint8_t {
    copy,     // as it is
    cast,     // to a low type
    round,    // to a low type and back
    measure,  // nothing is written: what casting it would do is counted
    ready,    // the result stands in the plan: what was cast lay in no file
  };
  struct Job {
    Kind kind = Kind::copy;
    std::uint64_t source = 0;             // index into `sources`
    std::uint64_t offset = 0, size = 0;   // bytes there; of `ready`, in `results`
    weights::Conversion conversion = {};  // of cast, round, measure
    bool measured = false;                // what casting it does is to be counted
    std::uint64_t result_size() const { return result_size(size); }
    /// Of `bytes` of the source.
    std::uint64_t result_size(std::uint64_t bytes) const;
  };
  /// A weight that was taken for ordinary: casting it must make no infinity, and at most so many zeros.
  struct Assumption {
    std::string weight;
    std::uint64_t job = 0, most_underflow = 0;
  };
  struct Range {
    std::uint64_t job = 0, begin = 0, size = 0;  // bytes of its source
  };
  struct Shard {
    std::vector<Range> ranges;
    std::string hash;    // of what they hold; empty where the plan was made without reading it
    std::string sample;  // else: of samples_of() it
  };

  std::string tool;   // version of the ampc that made it
  std::string model;  // as the user gave it
  std::vector<Source> sources;
  std::vector<Job> jobs;
  std::vector<Assumption> assumptions;
  std::vector<Shard> shards;
  std::string frame;               // frame_hash() of the model, where the plan was made without reading its weights
  std::string skeleton;            // the output's message, a marker for each job
  std::string results;             // of `ready`
  bool verbatim = false;           // the output is job 0 and nothing else
  bool asked_for_data = false;     // a data file was asked for, rather than needed
  std::optional<DataLayout> data;  // jobs that go into a data file, which `skeleton` calls kDataName
  std::string id;                  // tells plans apart

  static constexpr std::string_view kDataName = "data";

  std::uint64_t result_size(const Range& r) const { return jobs[r.job].result_size(r.size); }
};

/// A fault of reading `path`, for an errno: "cannot read WHAT: ...".
ShardFault unreadable(const std::string& path, int error, std::string_view what, std::string fix = {});

/// The plan as a file; sets `id`.
std::string plan_text(ShardPlan& plan);
/// Throws ShardFault where the file is no plan, damaged, or of another version of ampc, or cannot be read.
ShardPlan read_plan(const std::string& path);

/// A run of a shard that one thread does: at most kSliceBytes of the source.
struct Slice {
  std::uint64_t job = 0, begin = 0, size = 0;  // of the source
  std::uint64_t offset = 0, result_size = 0;   // in the shard
  std::uint64_t result_begin = 0;              // in the job's result
};
inline constexpr std::uint64_t kSliceBytes = std::uint64_t{512} << 10;
std::vector<Slice> slices_of(const ShardPlan& plan, const ShardPlan::Shard& shard);

}  // namespace ampc::emit
