#include "ampc/emit/weight_jobs.h"

#include <cstring>

namespace ampc::emit {

void WeightJobs::run(std::uint64_t index, std::uint64_t begin, std::span<std::byte> out,
                     weights::Caster& caster) const {
  const WeightJob& job = jobs_.at(index);
  if (out.empty()) return;
  const std::size_t from = byte_size(job.conversion.from), to = byte_size(job.conversion.to);
  if (!job.cast || to == 0) {
    std::memcpy(out.data(), job.source.data() + begin, out.size());
    return;
  }
  caster.cast(job.conversion, job.source.data() + begin / to * from, out.data(), out.size() / to);
}

}  // namespace ampc::emit
