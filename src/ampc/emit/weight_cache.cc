#include "ampc/emit/weight_cache.h"

#include <cstring>
#include <type_traits>

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>

#include "ampc/emit/content_hash.h"

namespace ampc::emit {
namespace {

static_assert(std::is_trivially_copyable_v<weights::Stats> && sizeof(weights::Stats) == 48,
              "statistics are kept as they lie in memory: another layout is another format");

bool takes_part(const WeightJob& job) {
  return job.cast && job.source.size() >= WeightCache::kLeastBytes && byte_size(job.conversion.from) != 0 &&
         byte_size(job.conversion.to) != 0;
}

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

}  // namespace

WeightCache::WeightCache(const std::string& folder, std::uint64_t limit) {
  try {
    folder_ = std::make_unique<CacheFolder>(folder, limit);
  } catch (const IoError& e) {
    fail(e);
  }
}

void WeightCache::fail(const IoError& e) {
  const std::lock_guard lock(mutex_);
  if (fault_.empty()) fault_ = e.what();
}

std::string WeightCache::hash_of(wire::Bytes source) {
  const std::pair key(source.data(), source.size());
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = hashes_.find(key); known != hashes_.end()) return known->second;
  }
  std::string hash = content_hash(source);
  const std::lock_guard lock(mutex_);
  return hashes_.try_emplace(key, std::move(hash)).first->second;
}

std::string WeightCache::name_of(const weights::Conversion& conversion, wire::Bytes source) {
  return fmt::format("{}-{}-{}", hash_of(source), short_name(conversion.from), short_name(conversion.to));
}

weights::Stats WeightCache::measure(const weights::Conversion& conversion, wire::Bytes source) {
  if (folder_ == nullptr || source.size() < kLeastBytes) return weights::measure_here(conversion, source);
  const std::string name = name_of(conversion, source) + ".stats";
  weights::Stats stats;
  if (const auto entry = folder_->find(name); entry && entry->bytes.size() == sizeof stats) {
    std::memcpy(&stats, entry->bytes.data(), sizeof stats);
    return stats;
  }
  stats = weights::measure_here(conversion, source);
  try {
    folder_->put(name, sizeof stats, [&](OutputFile& file) { file.write_at(0, std::as_bytes(std::span(&stats, 1))); });
  } catch (const IoError& e) {
    fail(e);
  }
  return stats;
}

void WeightCache::fetch(WeightJobs& jobs) {
  if (folder_ == nullptr) return;
  tbb::parallel_for(std::uint64_t{0}, jobs.size(), [&](std::uint64_t i) {
    WeightJob& job = jobs.at(i);
    if (!takes_part(job)) return;
    std::string name = name_of(job.conversion, job.source);
    if (job.conversion.clamp) name += "-clamp";
    if (job.back) name += "-back";
    const auto take = [&](const CacheFolder::Entry& entry) {
      job.ready = entry.bytes;
      job.ready_fd = entry.file.fd();
      taken_ += entry.bytes.size();
    };
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = entries_.find(name); known != entries_.end()) return take(*known->second);
    }
    auto entry = folder_->find(name);
    const std::lock_guard lock(mutex_);
    if (entry && entry->bytes.size() == job.size()) {
      return take(*entries_.try_emplace(name, std::make_unique<CacheFolder::Entry>(std::move(*entry))).first->second);
    }
    missing_.emplace(i, std::move(name));
  });
}

void WeightCache::store(const WeightJobs& jobs, std::uint64_t job, const OutputFile& file, std::uint64_t offset) {
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    const auto missing = missing_.find(job);
    if (missing == missing_.end() || !fault_.empty()) return;
    name = missing->second;
    // The same weight elsewhere in the model is kept once.
    std::erase_if(missing_, [&](const auto& other) { return other.second == name; });
  }
  const std::uint64_t size = jobs.at(job).size();
  try {
    folder_->put(name, size, [&](OutputFile& entry) { entry.copy_from(file, offset, size); });
    const std::lock_guard lock(mutex_);
    kept_ += size;
  } catch (const IoError& e) {
    fail(e);
  }
}

void WeightCache::trim() const {
  if (folder_ != nullptr) folder_->trim();
}

std::string WeightCache::summary() const {
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("cache: {} of cast weights taken, {} kept", megabytes(taken_), megabytes(kept_));
  if (folder_ != nullptr && folder_->damaged() != 0) {
    text += fmt::format(", {} damaged {} removed", folder_->damaged(), folder_->damaged() == 1 ? "entry" : "entries");
  }
  return text;
}

}  // namespace ampc::emit
