#include "ampc/emit/shard_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/emit/content_hash.h"
#include "ampc/emit/file_tasks.h"
#include "ampc/model/read_at.h"

namespace ampc::emit {
namespace {

using nlohmann::json;
using Kind = ShardPlan::Kind;

// The last line tells the length and the hash of the JSON before it: "ampc shard 1 LENGTH HASH".
constexpr std::string_view kMagic = "ampc shard ";
constexpr std::string_view kVersion = "1";
constexpr std::size_t kLengthDigits = 16;
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kLineSize = kMagic.size() + kVersion.size() + 1 + kLengthDigits + 1 + kHashDigits + 1;

std::string path_of(const ShardPlan::Source& source, const std::string& model) {
  if (source.location.empty()) return model;
  return (std::filesystem::path(model).parent_path() / source.location).string();
}

MappedFile open_source(const ShardPlan& plan, const ShardPlan::Source& source, const std::string& model) {
  const std::string path = path_of(source, model);
  MappedFile file;
  try {
    file = MappedFile(path);
  } catch (const std::system_error& e) {
    throw unreadable(path, e.code().value(), "what the plan was made from",
                     "give the model's place with --model, its data beside it");
  }
  if (file.bytes().size() == source.size) return file;
  throw ShardFault(
      codes::kInputChanged, path,
      fmt::format("the file has {} bytes; the plan was made from one of {}", file.bytes().size(), source.size),
      fmt::format("give the file that '{}' was when the plan was made, or make the plan again", plan.model));
}

/// Makes the results of slices, each on the thread that calls.
class SliceCaster {
 public:
  explicit SliceCaster(const ShardPlan& plan) : plan_(plan) {}

  void run(const Slice& slice, std::span<const std::byte> source, std::span<std::byte> out) {
    const ShardPlan::Job& job = plan_.jobs[slice.job];
    weights::Caster& caster = weights::cpu_caster();
    if (job.kind == Kind::measure) {
      add(slice.job, caster.measure(job.conversion, source.data(), source.size() / byte_size(job.conversion.from)));
      return;
    }
    const WeightJob one{source, job.kind != Kind::copy, job.conversion, job.kind == Kind::round};
    weights::Stats stats;
    one.run(0, out, caster, job.measured ? &stats : nullptr);
    if (job.measured) add(slice.job, stats);
  }

  const std::map<std::uint64_t, weights::Stats>& stats() const { return stats_; }

 private:
  void add(std::uint64_t job, const weights::Stats& stats) {
    const std::lock_guard lock(mutex_);
    stats_[job].merge(stats);
  }

  const ShardPlan& plan_;
  std::mutex mutex_;
  std::map<std::uint64_t, weights::Stats> stats_;
};

std::string tail_of(const ShardFile& shard) {
  json stats = json::array();
  for (const auto& [job, s] : shard.stats) stats.push_back({job, s.count, s.overflow, s.underflow});
  const json j = {
      {"plan", shard.plan}, {"index", shard.index}, {"size", shard.size}, {"hash", shard.hash}, {"stats", stats}};
  const std::string text = j.dump() + '\n';
  const std::string hash = content_hash(std::as_bytes(std::span(text.data(), text.size())));
  return text + fmt::format("{}{} {:0{}x} {}\n", kMagic, kVersion, text.size(), kLengthDigits, hash);
}

}  // namespace

void read_at(const MappedFile& file, std::uint64_t offset, std::span<std::byte> out) {
  if (ampc::read_at(file.fd(), offset, out) == out.size()) return;
  throw unreadable(file.path(), errno != 0 ? errno : EIO, "the file");
}

std::vector<std::string> files_of(const ShardPlan& plan, std::uint64_t index, const std::string& model) {
  std::set<std::uint64_t> sources;
  for (const auto& r : plan.shards.at(index).ranges) sources.insert(plan.jobs[r.job].source);
  std::vector<std::string> files;
  for (const std::uint64_t s : sources) files.push_back(path_of(plan.sources[s], model));
  return files;
}

void cast_shard(const ShardPlan& plan, std::uint64_t index, const std::string& model, OutputFile& file,
                const std::function<void(std::uint64_t)>& progress) {
  const ShardPlan::Shard& shard = plan.shards.at(index);
  const std::vector<Slice> slices = slices_of(plan, shard);
  std::map<std::uint64_t, MappedFile> sources;
  for (const auto& r : shard.ranges) {
    const std::uint64_t s = plan.jobs[r.job].source;
    if (!sources.contains(s)) sources.emplace(s, open_source(plan, plan.sources[s], model));
  }
  ShardFile made{plan.id, index, slices.empty() ? 0 : slices.back().offset + slices.back().result_size, {}, {}};
  file.set_size(made.size);
  PieceHashes read(slices.size()), written(slices.size());
  SliceCaster caster(plan);
  run_in_order(slices.size(), [&](std::size_t i) {
    const Slice& slice = slices[i];
    const ShardPlan::Job& job = plan.jobs[slice.job];
    thread_local std::vector<std::byte> source, result;
    source.resize(slice.size);
    result.resize(slice.result_size);
    read_at(sources.at(job.source), job.offset + slice.begin, source);
    read.set(i, source);
    caster.run(slice, source, result);
    written.set(i, result);
    file.write_at(slice.offset, result);
    if (progress) progress(slice.size);
  });
  const bool changed = std::any_of(sources.begin(), sources.end(), [](const auto& s) { return s.second.changed(); });
  if (changed || (!shard.hash.empty() && read.whole() != shard.hash)) {
    throw ShardFault(codes::kInputChanged, model,
                     changed ? "the model or its data was written to while it was read"
                             : "the model or its data holds other bytes than when the plan was made",
                     "give the files that the plan was made from, or make the plan again");
  }
  made.hash = written.whole();
  made.stats = caster.stats();
  const std::string tail = tail_of(made);
  file.write_at(made.size, std::as_bytes(std::span(tail.data(), tail.size())));
}

ShardFile read_shard(const MappedFile& file) {
  const auto fault = [&](const std::string& message, std::string fix) {
    return ShardFault(codes::kBadShard, file.path(), message, std::move(fix));
  };
  const auto none = [&] {
    return fault("this is no shard, or the end of one is missing", "give the files that ampc cast has written");
  };
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const std::size_t line = text.substr(0, text.empty() ? 0 : text.size() - 1).rfind('\n');
  if (line == std::string_view::npos || !text.substr(line + 1).starts_with(kMagic)) throw none();
  const std::string_view last = text.substr(line + 1);
  const std::string_view rest = last.substr(kMagic.size());
  if (const std::string_view version = rest.substr(0, rest.find(' ')); version != kVersion) {
    throw fault(fmt::format("this shard has format {}; this ampc reads format {}", version, kVersion),
                "use one version of ampc for plan, cast and link");
  }
  const auto damaged = [&] { return fault("the shard is damaged", "cast it again with ampc cast"); };
  if (last.size() != kLineSize || last.back() != '\n') throw damaged();
  std::uint64_t length = 0;
  for (const char c : rest.substr(kVersion.size() + 1, kLengthDigits)) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) throw damaged();
    length = length * 16 + digit;
  }
  if (length > line + 1) throw damaged();
  const std::string_view head = text.substr(line + 1 - length, length);
  if (content_hash(std::as_bytes(std::span(head.data(), head.size()))) !=
      last.substr(kLineSize - 1 - kHashDigits, kHashDigits)) {
    throw damaged();
  }
  ShardFile shard;
  try {
    const json j = json::parse(head);
    j.at("plan").get_to(shard.plan);
    j.at("index").get_to(shard.index);
    j.at("size").get_to(shard.size);
    j.at("hash").get_to(shard.hash);
    for (const json& s : j.at("stats")) {
      weights::Stats& stats = shard.stats[s.at(0)];
      s.at(1).get_to(stats.count);
      s.at(2).get_to(stats.overflow);
      s.at(3).get_to(stats.underflow);
    }
  } catch (const json::exception&) {
    throw damaged();
  }
  if (shard.size != line + 1 - length) throw damaged();
  return shard;
}

}  // namespace ampc::emit
