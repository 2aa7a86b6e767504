#include "ampc/emit/routed_casts.h"

#include <algorithm>
#include <cstring>

#include "ampc/model/read_at.h"

namespace ampc::emit {
namespace {

constexpr std::uint64_t kLeastBytes = std::uint64_t{64} << 10;  // of output: below, the calls cost more than the cast
constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;    // of output: a batch's worth of fp64, two of fp32

constexpr std::uint64_t kCpuBytes = std::uint64_t{256} << 10;  // stays in the cache between cast and write

}  // namespace

bool RoutedCasts::takes(std::uint64_t job) const {
  const WeightJob& j = jobs_.at(job);
  return router_.may_use_devices() && j.cast && !j.back && j.ready.empty() && byte_size(j.conversion.from) != 0 &&
         byte_size(j.conversion.to) != 0 && j.size() >= kLeastBytes;
}

void RoutedCasts::add(std::uint64_t job, std::uint64_t offset) {
  const WeightJob& j = jobs_.at(job);
  const std::size_t from = byte_size(j.conversion.from);
  const std::size_t to = byte_size(j.conversion.to);
  if (from == 0 || to == 0) return;
  for (std::uint64_t at = 0, size = j.size(); at < size; at += kPartBytes) {
    const Part part{job, at, std::min(kPartBytes, size - at), offset + at, at / to * from};
    tasks_.push_back({parts_.size(), j.conversion, part.size / to});
    parts_.push_back(part);
  }
}

void RoutedCasts::run() { router_.run(tasks_, *this); }

void RoutedCasts::load(std::size_t id, std::span<std::byte> source) {
  const Part& part = parts_[id];
  const WeightJob& j = jobs_.at(part.job);
  // Past the mapping, whose pages would be made one by one.
  if (j.fd >= 0 && read_at(j.fd, j.file_offset + part.source, source) == source.size()) return;
  std::memcpy(source.data(), j.source.data() + part.source, source.size());
}

void RoutedCasts::store(std::size_t id, std::span<const std::byte> result, const weights::Stats& stats) {
  jobs_.note(parts_[id].job, stats);
  file_.write_at(parts_[id].offset, result);
  if (progress_) progress_(result.size());
}

void RoutedCasts::on_cpu(std::size_t id) {
  const Part& part = parts_[id];
  for (std::uint64_t at = 0; at < part.size; at += kCpuBytes) {
    const std::uint64_t size = std::min(kCpuBytes, part.size - at);
    jobs_.write(part.job, part.begin + at, size, file_, part.offset + at, weights::cpu_caster());
    if (progress_) progress_(size);
  }
}

}  // namespace ampc::emit
