#include "ampc/emit/shard_sources.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "ampc/diag/model_codes.h"
#include "ampc/emit/content_hash.h"
#include "ampc/emit/file_tasks.h"
#include "ampc/model/read_at.h"

namespace ampc::emit {
namespace {

constexpr std::uint64_t kSampleBytes = 4096;  // a page
constexpr std::uint64_t kSampledSlices = 8;   // one of so many

struct Gap {
  std::uint64_t begin = 0, size = 0;
};

/// What no job reads of the model's file, in parts that are worth a thread.
std::vector<Gap> gaps_of(const ShardPlan& plan) {
  std::vector<Gap> read;
  for (const ShardPlan::Job& job : plan.jobs) {
    if (job.kind != ShardPlan::Kind::ready && job.source == 0) read.push_back({job.offset, job.size});
  }
  std::sort(read.begin(), read.end(), [](const Gap& a, const Gap& b) { return a.begin < b.begin; });
  read.push_back({plan.sources.at(0).size, 0});
  std::vector<Gap> gaps;
  std::uint64_t at = 0;
  for (const Gap& r : read) {
    while (at < r.begin) {
      gaps.push_back({at, std::min(kSliceBytes, r.begin - at)});
      at += gaps.back().size;
    }
    at = std::max(at, r.begin + r.size);
  }
  return gaps;
}

}  // namespace

std::string ShardSources::path(std::uint64_t index) const {
  const std::string& location = plan_.sources.at(index).location;
  if (location.empty()) return model_;
  return (std::filesystem::path(model_).parent_path() / location).string();
}

const MappedFile& ShardSources::open(std::uint64_t index) {
  if (const auto known = files_.find(index); known != files_.end()) return known->second;
  const std::string name = path(index);
  MappedFile file;
  try {
    file = MappedFile(name);
  } catch (const std::system_error& e) {
    throw unreadable(name, e.code().value(), "what the plan was made from",
                     "give the model's place with --model, its data beside it");
  }
  const std::uint64_t size = file.bytes().size(), before = plan_.sources[index].size;
  if (size != before) {
    throw ShardFault(
        codes::kInputChanged, name,
        fmt::format("the file has {} bytes; the plan was made from one of {}", size, before),
        fmt::format("give the file that '{}' was when the plan was made, or make the plan again", plan_.model));
  }
  return files_.emplace(index, std::move(file)).first->second;
}

bool ShardSources::changed() const {
  return std::any_of(files_.begin(), files_.end(), [](const auto& file) { return file.second.changed(); });
}

std::string frame_hash(const ShardPlan& plan, const MappedFile& model) {
  const std::vector<Gap> gaps = gaps_of(plan);
  PieceHashes hashes(gaps.size());
  tbb::parallel_for(std::size_t{0}, gaps.size(), [&](std::size_t i) {
    thread_local std::vector<std::byte> buffer;
    buffer.resize(gaps[i].size);
    read_at(model, gaps[i].begin, buffer);
    hashes.set(i, buffer);
  });
  return hashes.whole();
}

std::vector<Sample> samples_of(const ShardPlan& plan, const ShardPlan::Shard& shard) {
  const std::vector<Slice> slices = slices_of(plan, shard);
  std::vector<Sample> samples;
  std::size_t slice = 0;
  for (const ShardPlan::Range& r : shard.ranges) {
    for (std::uint64_t at = 0, number = 0; at < r.size; at += slices[slice].size, ++slice, ++number) {
      const Slice& s = slices[slice];
      std::uint64_t done = 0;  // bytes of the slice
      if (number % kSampledSlices == 0) {
        done = std::min(kSampleBytes, s.size);
        samples.push_back({s.job, s.begin, done, slice});
      }
      if (at + s.size == r.size && done < s.size) {
        const std::uint64_t size = std::min(kSampleBytes, s.size - done);
        samples.push_back({s.job, s.begin + s.size - size, size, slice});
      }
    }
  }
  return samples;
}

std::string source_hash(const ShardPlan& plan, const ShardPlan::Shard& shard, ShardSources& sources) {
  const std::vector<Slice> slices = slices_of(plan, shard);
  for (const ShardPlan::Range& r : shard.ranges) sources.open(plan.jobs[r.job].source);
  PieceHashes hashes(slices.size());
  run_in_order(slices.size(), [&](std::size_t i) {
    const ShardPlan::Job& job = plan.jobs[slices[i].job];
    thread_local std::vector<std::byte> buffer;
    buffer.resize(slices[i].size);
    read_at(sources.at(job.source), job.offset + slices[i].begin, buffer);
    hashes.set(i, buffer);
  });
  return hashes.whole();
}

void read_at(const MappedFile& file, std::uint64_t offset, std::span<std::byte> out) {
  if (ampc::read_at(file.fd(), offset, out) == out.size()) return;
  throw unreadable(file.path(), errno != 0 ? errno : EIO, "the file");
}

}  // namespace ampc::emit
