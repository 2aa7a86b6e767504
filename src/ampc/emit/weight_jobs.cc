#include "ampc/emit/weight_jobs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "ampc/model/storage.h"

namespace ampc::emit {

WeightJobs::WeightJobs(const Model& m) {
  std::vector<const MappedFile*> files{&m.storage->file};
  for (const MappedFile& f : m.storage->external) files.push_back(&f);
  std::sort(files.begin(), files.end(),
            [](const auto* a, const auto* b) { return a->bytes().data() < b->bytes().data(); });
  for (const auto* f : files) mapped_.push_back(f->bytes());
  for (const wire::Bytes b : m.payloads) {
    WeightJob job{b, false, {}};
    const auto after = std::upper_bound(files.begin(), files.end(), b.data(),
                                        [](const std::byte* at, const auto* f) { return at < f->bytes().data(); });
    if (after != files.begin()) {
      const MappedFile& f = **std::prev(after);
      job.fd = f.fd();
      job.file_offset = static_cast<std::uint64_t>(b.data() - f.bytes().data());
    }
    jobs_.push_back(job);
  }
}

void WeightJob::run(std::uint64_t begin, std::span<std::byte> out, weights::Caster& caster,
                    weights::Stats* stats) const {
  if (out.empty()) return;
  if (!ready.empty()) {
    std::memcpy(out.data(), ready.data() + begin, out.size());
    return;
  }
  const std::size_t from = byte_size(conversion.from), to = byte_size(conversion.to);
  if (!cast || from == 0 || to == 0) {
    std::memcpy(out.data(), source.data() + begin, out.size());
    return;
  }
  if (back) {
    const std::size_t count = out.size() / from;
    std::vector<std::byte> rounded(count * to);
    caster.cast(conversion, source.data() + begin, rounded.data(), count);
    caster.cast({conversion.to, conversion.from, false}, rounded.data(), out.data(), count);
    return;
  }
  const std::byte* at = source.data() + begin / to * from;
  if (stats != nullptr && is_low(conversion.to)) {
    stats->merge(caster.cast_measured(conversion, at, out.data(), out.size() / to));
  } else {
    caster.cast(conversion, at, out.data(), out.size() / to);
  }
}

void WeightJobs::run(std::uint64_t index, std::uint64_t begin, std::span<std::byte> out,
                     weights::Caster& caster) const {
  const WeightJob& job = jobs_.at(index);
  weights::Stats stats;
  job.run(begin, out, caster, stats_.empty() ? nullptr : &stats);
  if (stats.count != 0) note(index, stats);
  was_read(job, begin, out.size());
}

/// Bytes [begin, begin + size) of the job's result have been made.
void WeightJobs::was_read(const WeightJob& job, std::uint64_t begin, std::uint64_t size) const {
  const auto reads = [](const WeightJob& j) { return j.cast && j.ready.empty() && j.size() != 0; };
  if (!reads(job)) return;
  std::call_once(counted_, [&] {
    to_read_.emplace(mapped_);
    for (const WeightJob& j : jobs_) {
      if (reads(j)) to_read_->expect(j.source);
    }
  });
  const std::uint64_t from = job.source.size(), to = job.size();
  const auto scaled = [&](std::uint64_t at) { return from >= to ? at * (from / to) : at / (to / from); };
  to_read_->read(job.source.subspan(scaled(begin), scaled(size)));
}

void WeightJobs::note(std::uint64_t index, const weights::Stats& stats) const {
  const std::lock_guard lock(mutex_);
  if (index < stats_.size()) stats_[index].merge(stats);
}

weights::Stats WeightJobs::stats(std::uint64_t index) const {
  const std::lock_guard lock(mutex_);
  return index < stats_.size() ? stats_[index] : weights::Stats{};
}

void WeightJobs::write(std::uint64_t index, std::uint64_t begin, std::uint64_t size, OutputFile& file,
                       std::uint64_t offset, weights::Caster& caster) const {
  const WeightJob& job = jobs_.at(index);
  if (!job.ready.empty()) {
    if (!file.copy_from(job.ready_fd, begin, offset, size)) file.write_at(offset, job.ready.subspan(begin, size));
    return;
  }
  if (!job.cast && job.fd >= 0 && file.copy_from(job.fd, job.file_offset + begin, offset, size)) return;
  if (!job.cast) {
    file.write_at(offset, job.source.subspan(begin, size));
    return;
  }
  thread_local std::vector<std::byte> buffer;
  buffer.resize(size);
  run(index, begin, buffer, caster);
  file.write_at(offset, buffer);
}

}  // namespace ampc::emit
