// Weights that an earlier run has cast already.
//
// Under the hash of a weight's bytes and what is done with them lie its statistics, so that the decisions and what is
// said of them are the same, and the result, which is copied into the output. Small weights are cast faster than looked
// up.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ampc/emit/cache_folder.h"
#include "ampc/emit/weight_jobs.h"
#include "ampc/weights/caster.h"

namespace ampc::emit {

class WeightCache {
 public:
  /// Of the source: smaller weights take no part.
  static constexpr std::size_t kLeastBytes = std::size_t{1} << 20;

  /// As CacheFolder, whose faults turn it off: what then has to be told is in fault().
  WeightCache(const std::string& folder, std::uint64_t limit);

  /// Statistics of a weight, kept or measured now. From any thread.
  weights::Stats measure(const weights::Conversion& conversion, wire::Bytes source);

  /// Gives the jobs whose results are kept those results.
  void fetch(WeightJobs& jobs);

  /// Keeps the result of a job, which stands in `file` at `offset`. Call it for each job; those that were fetched, or
  /// take no part, are passed over. From any thread.
  void store(const WeightJobs& jobs, std::uint64_t job, const OutputFile& file, std::uint64_t offset);

  /// To be called at the end: keeps the folder's size.
  void trim() const;

  const std::string& fault() const { return fault_; }  // why it does not work; empty where it does
  /// "cache: 945.1 MB of cast weights taken, 12.0 MB kept", numbers alone.
  std::string summary() const;

 private:
  std::string hash_of(wire::Bytes source);
  std::string name_of(const weights::Conversion& conversion, wire::Bytes source);
  void fail(const IoError& e);

  std::unique_ptr<CacheFolder> folder_;  // null where it cannot be used
  mutable std::mutex mutex_;             // guards what follows
  std::map<std::pair<const std::byte*, std::size_t>, std::string> hashes_;
  std::map<std::string, std::unique_ptr<CacheFolder::Entry>> entries_;  // by name; kept open for the copies
  std::map<std::uint64_t, std::string> missing_;                        // by job
  std::string fault_;
  std::uint64_t taken_ = 0, kept_ = 0;  // bytes
};

}  // namespace ampc::emit
