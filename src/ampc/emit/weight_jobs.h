// The bytes that go into an output file in place of its markers: as they are in the input, or cast on the way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ampc/emit/output_file.h"
#include "ampc/model/model.h"
#include "ampc/weights/caster.h"

namespace ampc::emit {

struct WeightJob {
  wire::Bytes source;
  bool cast = false;
  weights::Conversion conversion;
  int fd = -1;  // the file that `source` lies in, from `file_offset` on; -1 where it lies in none
  std::uint64_t file_offset = 0;

  std::uint64_t size() const {
    const std::size_t from = byte_size(conversion.from);
    return cast && from != 0 ? source.size() / from * byte_size(conversion.to) : source.size();
  }
};

/// Job i stands behind marker i; the first ones are the input's payloads as they are.
class WeightJobs {
 public:
  explicit WeightJobs(const Model& m);
  std::uint64_t add(WeightJob job) {
    jobs_.push_back(job);
    return jobs_.size() - 1;
  }
  const WeightJob& at(std::uint64_t index) const { return jobs_.at(index); }

  /// `out` becomes bytes [begin, begin + out.size()) of the job's result; begin and size are whole elements.
  void run(std::uint64_t index, std::uint64_t begin, std::span<std::byte> out, weights::Caster& caster) const;
  /// Writes those bytes, `size` from `begin` on, into `file` at `offset`: within the kernel where they are as they
  /// were. Throws IoError.
  void write(std::uint64_t index, std::uint64_t begin, std::uint64_t size, OutputFile& file, std::uint64_t offset,
             weights::Caster& caster) const;

 private:
  std::vector<WeightJob> jobs_;
};

}  // namespace ampc::emit
