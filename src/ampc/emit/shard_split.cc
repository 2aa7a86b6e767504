#include "ampc/emit/shard_split.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include <tbb/parallel_for.h>
#include "onnx/onnx_pb.h"

#include "ampc/emit/content_hash.h"
#include "ampc/emit/model_writer.h"
#include "ampc/emit/shard_sources.h"
#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"

namespace ampc::emit {
namespace {

using Job = ShardPlan::Job;
using Kind = ShardPlan::Kind;

constexpr std::uint64_t kCutAlignment = 64;  // bytes of a source; whole elements of any type

class Splitter {
 public:
  Splitter(Model& m, const WeightJobs& jobs) : m_(m), jobs_(jobs) {
    const std::filesystem::path folder = std::filesystem::path(m.path).parent_path();
    add(m.storage->file, {});
    for (const MappedFile& f : m.storage->external) {
      add(f, std::filesystem::path(f.path()).lexically_relative(folder.empty() ? "" : folder).string());
    }
  }

  ShardPlan run(const Plan& plan, std::optional<DataLayout> data, const SplitOptions& options) {
    plan_.tool = AMPC_VERSION;
    plan_.model = m_.path;
    plan_.verbatim = options.as_it_is;
    plan_.data = std::move(data);
    if (options.as_it_is) {
      plan_.jobs.push_back({Kind::copy, 0, 0, m_.file_size});
    } else {
      collect();
    }
    assume(plan);
    if (options.as_it_is) {
      // Its one job stays the first.
    } else {
      in_order_of_sources();
      mark();
      plan_.skeleton = skeleton_of(*m_.proto);
    }
    cut(options.shards);
    options.hashed ? hash() : sample();
    return std::move(plan_);
  }

 private:
  void add(const MappedFile& file, std::string location) {
    number_of_file_.emplace(&file, files_.size());
    files_.push_back(&file);
    plan_.sources.push_back({std::move(location), file.bytes().size()});
  }

  /// Where `bytes` lie: false where in no file.
  bool find(wire::Bytes bytes, Job& job) const {
    const MappedFile* file = m_.storage->file_of(bytes);
    if (file == nullptr) return false;
    job.source = number_of_file_.at(file);
    job.offset = static_cast<std::uint64_t>(bytes.data() - file->bytes().data());
    return true;
  }

  Job job_of(const WeightJob& w) {
    Job job;
    job.kind = !w.cast ? Kind::copy : w.back ? Kind::round : Kind::cast;
    job.size = w.source.size();
    if (w.cast) job.conversion = w.conversion;
    if (find(w.source, job)) return job;
    job = {};
    job.kind = Kind::ready;
    job.offset = plan_.results.size();
    job.size = w.size();
    plan_.results.resize(job.offset + job.size);
    w.run(0, {reinterpret_cast<std::byte*>(plan_.results.data()) + job.offset, job.size}, weights::cpu_caster());
    return job;
  }

  using Key = std::tuple<int, std::uint64_t, std::uint64_t, std::uint64_t, int, int, bool>;
  static Key key_of(const Job& j) {
    const auto& c = j.conversion;
    return {static_cast<int>(j.kind), j.source, j.offset, j.size, static_cast<int>(c.from),
            static_cast<int>(c.to),   c.clamp};
  }

  std::uint64_t intern(const Job& job) {
    const auto [at, fresh] = by_key_.try_emplace(key_of(job), plan_.jobs.size());
    if (fresh) plan_.jobs.push_back(job);
    return at->second;
  }

  void note(std::uint64_t index) {
    if (!number_.contains(index)) number_.emplace(index, intern(job_of(jobs_.at(index))));
  }

  void collect() {
    tensors::for_each(*m_.proto, [&](const onnx::TensorProto& t) {
      if (!t.has_raw_data()) return;
      if (const auto index = wire::marker_index(t.raw_data())) note(*index);
    });
    if (!plan_.data) return;
    for (auto& piece : plan_.data->pieces) note(piece.job);
  }

  /// What a cast on its way may tell is asked of it; the others are read for that alone.
  void assume(const Plan& plan) {
    for (const Assumed& a : plan.assumed) {
      Job job;
      if (!find(a.bytes, job)) continue;  // only what lies in a file is taken on trust
      job.size = a.bytes.size();
      std::uint64_t index = plan_.jobs.size();
      for (const bool clamp : {false, true}) {
        job.kind = Kind::cast;
        job.conversion = {ElemType::float32, a.low, clamp};
        if (const auto at = by_key_.find(key_of(job)); at != by_key_.end()) index = at->second;
      }
      if (index == plan_.jobs.size()) {
        job.kind = Kind::measure;
        job.conversion.clamp = false;
        index = intern(job);
      }
      plan_.jobs[index].measured = true;
      plan_.assumptions.push_back({std::string(m_.values[a.value].name), index, a.most_underflow});
    }
  }

  /// A shard reads its files from front to back.
  void in_order_of_sources() {
    std::vector<std::uint64_t> order(plan_.jobs.size()), place(plan_.jobs.size());
    for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
      const Job &x = plan_.jobs[a], &y = plan_.jobs[b];
      return std::tuple(x.source, x.offset) < std::tuple(y.source, y.offset);
    });
    std::vector<Job> sorted;
    for (std::uint64_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(plan_.jobs[order[i]]);
    }
    plan_.jobs = std::move(sorted);
    for (auto& [index, job] : number_) job = place[job];
    for (auto& a : plan_.assumptions) a.job = place[a.job];
  }

  void mark() {
    tensors::for_each(*m_.proto, [&](onnx::TensorProto& t) {
      if (!t.has_raw_data()) return;
      if (const auto index = wire::marker_index(t.raw_data())) t.set_raw_data(wire::marker(number_.at(*index)));
    });
    if (!plan_.data) return;
    for (auto& piece : plan_.data->pieces) piece.job = number_.at(piece.job);
  }

  static std::uint64_t cost(const Job& job) { return job.kind == Kind::ready ? 0 : job.size + job.result_size(); }

  /// Of a job's source, the bytes that `cost` bytes of reading and writing do.
  static std::uint64_t source_bytes(const Job& job, std::uint64_t cost) {
    if (job.kind == Kind::measure) return cost;
    if (job.kind != Kind::cast) return cost / 2;
    const std::uint64_t from = byte_size(job.conversion.from), both = from + byte_size(job.conversion.to);
    return both == 0 ? 0 : cost / both * from;
  }

  void cut(std::uint64_t count) {
    std::uint64_t total = 0;
    for (const Job& job : plan_.jobs) total += cost(job);
    plan_.shards.resize(count);
    std::uint64_t shard = 0, before = 0;  // cost of the jobs that are done
    const auto end = [&](std::uint64_t s) { return total / count * (s + 1) + total % count * (s + 1) / count; };
    for (std::uint64_t i = 0; i < plan_.jobs.size(); ++i) {
      const Job& job = plan_.jobs[i];
      const std::uint64_t whole = cost(job);
      for (std::uint64_t at = 0; whole != 0 && at < job.size;) {
        std::uint64_t to = job.size;
        if (shard + 1 < count && before + whole > end(shard)) {
          to = std::min(to, source_bytes(job, end(shard) - before) / kCutAlignment * kCutAlignment);
        }
        if (to > at) plan_.shards[shard].ranges.push_back({i, at, to - at});
        at = std::max(at, to);
        if (at < job.size) ++shard;
      }
      before += whole;
      while (shard + 1 < count && before >= end(shard)) ++shard;
    }
  }

  void hash() {
    for (auto& shard : plan_.shards) {
      const std::vector<Slice> slices = slices_of(plan_, shard);
      PieceHashes hashes(slices.size());
      tbb::parallel_for(std::size_t{0}, slices.size(), [&](std::size_t i) {
        const Job& job = plan_.jobs[slices[i].job];
        hashes.set(i, files_[job.source]->bytes().subspan(job.offset + slices[i].begin, slices[i].size));
      });
      shard.hash = hashes.whole();
    }
  }

  void sample() {
    plan_.frame = frame_hash(plan_, m_.storage->file);
    for (auto& shard : plan_.shards) {
      const std::vector<Sample> samples = samples_of(plan_, shard);
      PieceHashes hashes(samples.size());
      tbb::parallel_for(std::size_t{0}, samples.size(), [&](std::size_t i) {
        const Job& job = plan_.jobs[samples[i].job];
        std::vector<std::byte> buffer(samples[i].size);
        read_at(*files_[job.source], job.offset + samples[i].begin, buffer);
        hashes.set(i, buffer);
      });
      shard.sample = hashes.whole();
    }
  }

  Model& m_;
  const WeightJobs& jobs_;
  ShardPlan plan_;
  std::vector<const MappedFile*> files_;
  std::map<const MappedFile*, std::uint64_t> number_of_file_;  // index into `files_`
  std::map<Key, std::uint64_t> by_key_;
  std::map<std::uint64_t, std::uint64_t> number_;  // from the index in `jobs_` to that in the plan
};

}  // namespace

ShardPlan split(Model& m, const WeightJobs& jobs, const Plan& plan, std::optional<DataLayout> data,
                const SplitOptions& options) {
  return Splitter(m, jobs).run(plan, std::move(data), options);
}

}  // namespace ampc::emit
