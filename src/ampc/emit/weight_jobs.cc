#include "ampc/emit/weight_jobs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "ampc/model/storage.h"

namespace ampc::emit {

namespace {

constexpr std::uint64_t kBlock = 4096;  // of file systems

/// Elements [first, first + count) of a job's result.
void make(const WeightJob& job, std::uint64_t first, std::size_t count, std::byte* out, weights::Caster& caster,
          weights::Stats* stats) {
  const weights::Conversion& c = job.conversion;
  const std::byte* source = job.source.data() + first * byte_size(c.from);
  if (job.back) {
    std::vector<std::byte> rounded(count * byte_size(c.to));
    caster.cast(c, source, rounded.data(), count);
    caster.cast({c.to, c.from, false}, rounded.data(), out, count);
  } else if (stats != nullptr && is_low(c.to)) {
    stats->merge(caster.cast_measured(c, source, out, count));
  } else {
    caster.cast(c, source, out, count);
  }
}

}  // namespace

WeightJobs::WeightJobs(const Model& m) {
  mapped_.push_back(m.storage->file.bytes());
  for (const MappedFile& f : m.storage->external) mapped_.push_back(f.bytes());
  for (const wire::Bytes b : m.payloads) {
    WeightJob job{b, false, {}};
    if (const MappedFile* f = m.storage->file_of(b)) {
      job.fd = f->fd();
      job.file_offset = static_cast<std::uint64_t>(b.data() - f->bytes().data());
    }
    jobs_.push_back(job);
  }
}

void WeightJob::run(std::uint64_t begin, std::span<std::byte> out, weights::Caster& caster,
                    weights::Stats* stats) const {
  if (out.empty()) return;
  if (!computes()) {
    std::memcpy(out.data(), (ready.empty() ? source : ready).data() + begin, out.size());
    return;
  }
  const std::size_t unit = byte_size(back ? conversion.from : conversion.to);
  std::array<std::byte, sizeof(double)> element{};
  if (const std::size_t within = begin % unit; within != 0) {  // its first bytes, and its statistics, are another's
    const std::size_t size = std::min(unit - within, out.size());
    make(*this, begin / unit, 1, element.data(), caster, nullptr);
    std::memcpy(out.data(), element.data() + within, size);
    out = out.subspan(size);
    begin += size;
  }
  const std::size_t whole = out.size() / unit, rest = out.size() % unit;
  if (whole != 0) make(*this, begin / unit, whole, out.data(), caster, stats);
  if (rest == 0) return;
  make(*this, begin / unit + whole, 1, element.data(), caster, stats);
  std::memcpy(out.data() + whole * unit, element.data(), rest);
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
  if (!job.computes()) return;
  std::call_once(counted_, [&] {
    to_read_.emplace(mapped_);
    for (const WeightJob& j : jobs_) {
      if (j.computes()) to_read_->expect(j.source);
    }
  });
  const std::uint64_t from = byte_size(job.conversion.from), to = job.back ? from : byte_size(job.conversion.to);
  const std::uint64_t first = (begin + to - 1) / to, last = (begin + size + to - 1) / to;  // elements that begin there
  to_read_->read(job.source.subspan(first * from, (last - first) * from));
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
  if (!job.computes()) {
    // Whole blocks may be shared by the file system; what is copied in any case is written faster than spliced.
    const std::uint64_t from = job.file_offset + begin;
    if (job.fd >= 0 && from % kBlock == 0 && offset % kBlock == 0 && file.copy_from(job.fd, from, offset, size)) return;
    file.write_at(offset, job.source.subspan(begin, size));
    return;
  }
  thread_local std::vector<std::byte> buffer;
  buffer.resize(size);
  run(index, begin, buffer, caster);
  file.write_at(offset, buffer);
}

}  // namespace ampc::emit
