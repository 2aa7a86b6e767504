// The bytes that go into an output file in place of its markers: as they are in the input, or cast on the way.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "ampc/emit/output_file.h"
#include "ampc/emit/read_once.h"
#include "ampc/model/model.h"
#include "ampc/weights/caster.h"

namespace ampc::emit {

struct WeightJob {
  wire::Bytes source;
  bool cast = false;
  weights::Conversion conversion;
  bool back = false;  // … and back: the source's type, rounded to what the other holds
  int fd = -1;        // the file that `source` lies in, from `file_offset` on; -1 where it lies in none
  std::uint64_t file_offset = 0;
  wire::Bytes ready = {};  // the result, where it is there already; empty where it is not
  int ready_fd = -1;       // the file that begins with it

  /// Whether elements are computed; else the result's bytes are there already.
  bool computes() const {
    return cast && ready.empty() && byte_size(conversion.from) != 0 && byte_size(conversion.to) != 0;
  }
  std::uint64_t size() const {
    const std::size_t from = byte_size(conversion.from);
    return cast && !back && from != 0 ? source.size() / from * byte_size(conversion.to) : source.size();
  }

  /// `out` becomes bytes [begin, begin + out.size()) of the result, which may begin and end within elements.
  /// With `stats`, a cast to a low type adds what it finds in the source of elements that begin there.
  void run(std::uint64_t begin, std::span<std::byte> out, weights::Caster& caster,
           weights::Stats* stats = nullptr) const;
};

/// Job i stands behind marker i; the first ones are the input's payloads as they are. Without a model, there are none.
class WeightJobs {
 public:
  WeightJobs() = default;
  explicit WeightJobs(const Model& m);
  std::uint64_t add(WeightJob job) {
    jobs_.push_back(job);
    return jobs_.size() - 1;
  }
  std::uint64_t size() const { return jobs_.size(); }
  const WeightJob& at(std::uint64_t index) const { return jobs_.at(index); }
  WeightJob& at(std::uint64_t index) { return jobs_.at(index); }

  /// From now on, what casts find in their sources is kept.
  void keep_stats() { stats_.resize(jobs_.size()); }
  /// What casting part of a job's source found. Safe from several threads at once.
  void note(std::uint64_t index, const weights::Stats& stats) const;
  /// All that was noted of a job: of its whole source where the count is that.
  weights::Stats stats(std::uint64_t index) const;

  void run(std::uint64_t index, std::uint64_t begin, std::span<std::byte> out, weights::Caster& caster) const;
  /// Writes those bytes of a job's result, `size` from `begin` on, into `file` at `offset`: within the kernel where
  /// they are as they were. Throws IoError.
  void write(std::uint64_t index, std::uint64_t begin, std::uint64_t size, OutputFile& file, std::uint64_t offset,
             weights::Caster& caster) const;

 private:
  void was_read(const WeightJob& job, std::uint64_t begin, std::uint64_t size) const;

  std::vector<WeightJob> jobs_;
  std::vector<wire::Bytes> mapped_;            // the input's files
  mutable std::once_flag counted_;             // what is to be read, when the first of it is
  mutable std::optional<ReadOnce> to_read_;    // of them
  mutable std::mutex mutex_;                   // guards the statistics
  mutable std::vector<weights::Stats> stats_;  // by job; empty where none are kept
};

}  // namespace ampc::emit
