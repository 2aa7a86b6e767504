#include <cstddef>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>

#include "ampc/weights/caster.h"

namespace ampc::weights {
namespace {

using Range = tbb::blocked_range<std::size_t>;

/// Elements a task takes: at most 4 MiB of fp32, small enough for the second-level cache to hold what it writes.
constexpr std::size_t kGrain = std::size_t{1} << 20;

}  // namespace

void cast_parallel(Caster& caster, const Conversion& conversion, const std::byte* source, std::byte* target,
                   std::size_t count) {
  if (count <= kGrain) {
    caster.cast(conversion, source, target, count);
    return;
  }
  const std::size_t from = byte_size(conversion.from);
  const std::size_t to = byte_size(conversion.to);
  tbb::parallel_for(
      Range(0, count, kGrain),
      [&](const Range& range) {
        caster.cast(conversion, source + range.begin() * from, target + range.begin() * to, range.size());
      },
      tbb::simple_partitioner());
}

Stats measure_parallel(Caster& caster, const Conversion& conversion, const std::byte* source, std::size_t count) {
  if (count <= kGrain) return caster.measure(conversion, source, count);
  const std::size_t from = byte_size(conversion.from);
  return tbb::parallel_deterministic_reduce(
      Range(0, count, kGrain), Stats{},
      [&](const Range& range, Stats stats) {
        stats.merge(caster.measure(conversion, source + range.begin() * from, range.size()));
        return stats;
      },
      [](Stats left, const Stats& right) {
        left.merge(right);
        return left;
      });
}

Stats measure_here(const Conversion& conversion, std::span<const std::byte> source) {
  const std::size_t size = byte_size(conversion.from);
  return size == 0 ? Stats{} : measure_parallel(cpu_caster(), conversion, source.data(), source.size() / size);
}

}  // namespace ampc::weights
