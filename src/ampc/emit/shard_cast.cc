#include "ampc/emit/shard_cast.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <span>

#include "ampc/diag/model_codes.h"
#include "ampc/emit/content_hash.h"
#include "ampc/emit/file_tasks.h"
#include "ampc/emit/shard_file.h"
#include "ampc/emit/shard_sources.h"

namespace ampc::emit {
namespace {

using Kind = ShardPlan::Kind;

constexpr std::uint64_t kLeastForDevice = std::uint64_t{64} << 10;  // of result: below, the calls cost more

class ShardCast final : weights::CastWork {
 public:
  ShardCast(const ShardPlan& plan, std::uint64_t index, const std::string& model, OutputFile& file,
            const ShardCasters& casters)
      : plan_(plan),
        index_(index),
        shard_(plan.shards.at(index)),
        model_(model),
        file_(file),
        casters_(casters),
        slices_(slices_of(plan, shard_)),
        sources_(plan, model),
        samples_(samples(plan, shard_)),
        read_(slices_.size()),
        written_(slices_.size()),
        sampled_(samples_.size()) {}

  void run() {
    collect();
    ShardFile made{plan_.id, index_, slices_.empty() ? 0 : slices_.back().offset + slices_.back().result_size,
                   {},       {},     {}};
    file_.set_size(made.size);
    if (casters_.cache != nullptr) look_up();
    std::vector<std::size_t> here;
    std::vector<weights::DeviceTask> there;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const weights::Conversion& c = plan_.jobs[slices_[i].job].conversion;
      const std::size_t from = byte_size(c.from);
      if (from != 0 && for_device(i)) {
        there.push_back({i, c, slices_[i].size / from});
      } else {
        here.push_back(i);
      }
    }
    run_in_order(here.size(), [&](std::size_t i) { on_cpu(here[i]); });
    casters_.router.run(there, *this);
    check();
    if (casters_.cache != nullptr) {
      for (std::size_t i = 0; i < places_.size(); ++i) casters_.cache->store(jobs_, i, file_, places_[i]);
    }
    made.hash = written_.whole();
    made.source = read_.whole();
    made.stats = stats_;
    const std::string tail = shard_tail(made);
    file_.write_at(made.size, std::as_bytes(std::span(tail.data(), tail.size())));
  }

 private:
  static std::vector<Sample> samples(const ShardPlan& plan, const ShardPlan::Shard& shard) {
    return shard.sample.empty() ? std::vector<Sample>{} : samples_of(plan, shard);
  }

  void collect() {
    if (!plan_.frame.empty() && frame_hash(plan_, sources_.open(0)) != plan_.frame) {
      throw other_model("the model is another than the one that the plan was made from, in more than its weights");
    }
    std::uint64_t offset = 0;
    for (const auto& r : shard_.ranges) {
      sources_.open(plan_.jobs[r.job].source);
      for (std::uint64_t at = 0; at < r.size; at += slices_[range_of_.size() - 1].size)
        range_of_.push_back(places_.size());
      places_.push_back(offset);
      offset += plan_.result_size(r);
      add(r);
    }
    known_.resize(places_.size());
  }

  void add(const ShardPlan::Range& r) {
    const ShardPlan::Job& job = plan_.jobs[r.job];
    const MappedFile& file = sources_.at(job.source);
    WeightJob w{file.bytes().subspan(job.offset + r.begin, r.size), job.kind == Kind::cast || job.kind == Kind::round,
                job.conversion, job.kind == Kind::round};
    w.fd = file.fd();
    w.file_offset = job.offset + r.begin;
    jobs_.add(w);
  }

  /// What the cache has of this shard. It reads by the mapping, whose pages are given back.
  void look_up() {
    casters_.cache->fetch(jobs_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const ShardPlan::Range& r = shard_.ranges[i];
      const ShardPlan::Job& job = plan_.jobs[r.job];
      if (job.measured && r.size >= WeightCache::kLeastBytes) {
        note(r.job, casters_.cache->measure(job.conversion, jobs_.at(i).source));
        known_[i] = true;
      }
      sources_.at(job.source).let_go(job.offset + r.begin, job.offset + r.begin + r.size);
    }
  }

  bool for_device(std::size_t i) const {
    const Slice& slice = slices_[i];
    return casters_.router.may_use_devices() && plan_.jobs[slice.job].kind == Kind::cast &&
           jobs_.at(range_of_[i]).ready.empty() && slice.result_size >= kLeastForDevice;
  }

  void load(std::size_t i, std::span<std::byte> source) override {
    const Slice& slice = slices_[i];
    const ShardPlan::Job& job = plan_.jobs[slice.job];
    read_at(sources_.at(job.source), job.offset + slice.begin, source);
    read_.set(i, source);
    const auto first = std::lower_bound(samples_.begin(), samples_.end(), i,
                                        [](const Sample& s, std::size_t slice) { return s.slice < slice; });
    for (auto s = first; s != samples_.end() && s->slice == i; ++s) {
      sampled_.set(static_cast<std::size_t>(s - samples_.begin()), source.subspan(s->begin - slice.begin, s->size));
    }
  }

  void store(std::size_t i, std::span<const std::byte> result, const weights::Stats& stats) override {
    const Slice& slice = slices_[i];
    if (plan_.jobs[slice.job].measured && !known_[range_of_[i]]) note(slice.job, stats);
    written_.set(i, result);
    file_.write_at(slice.offset, result);
    if (casters_.progress) casters_.progress(slice.size);
  }

  void on_cpu(std::size_t i) override {
    const Slice& slice = slices_[i];
    const ShardPlan::Job& job = plan_.jobs[slice.job];
    const WeightJob& range = jobs_.at(range_of_[i]);
    thread_local std::vector<std::byte> source, result;
    source.resize(slice.size);
    load(i, source);
    weights::Stats stats;
    if (!range.ready.empty()) {
      const std::uint64_t begin = slice.offset - places_[range_of_[i]];
      store(i, range.ready.subspan(begin, slice.result_size), stats);
      return;
    }
    weights::Caster& caster = weights::cpu_caster();
    const bool measured = job.measured && !known_[range_of_[i]];
    result.resize(slice.result_size);
    if (job.kind != Kind::measure) {
      const WeightJob one{source, job.kind != Kind::copy, job.conversion, job.kind == Kind::round};
      one.run(0, result, caster, measured ? &stats : nullptr);
    } else if (measured) {
      stats = caster.measure(job.conversion, source.data(), source.size() / byte_size(job.conversion.from));
    }
    store(i, result, stats);
  }

  void note(std::uint64_t job, const weights::Stats& stats) {
    const std::lock_guard lock(mutex_);
    stats_[job].merge(stats);
  }

  void check() const {
    if (sources_.changed()) throw other_model("the model or its data was written to while it was read");
    const bool same = shard_.hash.empty() || read_.whole() == shard_.hash;
    if (same && (shard_.sample.empty() || sampled_.whole() == shard_.sample)) return;
    throw other_model("the model or its data holds other bytes than when the plan was made");
  }

  ShardFault other_model(const std::string& message) const {
    return {codes::kInputChanged, model_, message,
            "give the files that the plan was made from, or make the plan again"};
  }

  const ShardPlan& plan_;
  std::uint64_t index_;
  const ShardPlan::Shard& shard_;
  const std::string& model_;
  OutputFile& file_;
  const ShardCasters& casters_;
  std::vector<Slice> slices_;
  ShardSources sources_;
  std::vector<Sample> samples_;        // none where the plan has a hash of everything
  std::vector<std::size_t> range_of_;  // by slice
  std::vector<std::uint64_t> places_;  // by range: where its result begins
  WeightJobs jobs_;                    // one for each range
  std::vector<char> known_;            // by range: whether the cache has told what casting it does
  PieceHashes read_, written_, sampled_;
  std::mutex mutex_;  // guards what follows
  std::map<std::uint64_t, weights::Stats> stats_;
};

}  // namespace

std::vector<std::string> files_of(const ShardPlan& plan, std::uint64_t index, const std::string& model) {
  std::set<std::uint64_t> sources;
  if (!plan.frame.empty()) sources.insert(0);
  for (const auto& r : plan.shards.at(index).ranges) sources.insert(plan.jobs[r.job].source);
  std::vector<std::string> files;
  files.reserve(sources.size());
  for (const std::uint64_t s : sources) files.push_back(ShardSources(plan, model).path(s));
  return files;
}

void cast_shard(const ShardPlan& plan, std::uint64_t index, const std::string& model, OutputFile& file,
                const ShardCasters& casters) {
  ShardCast(plan, index, model, file, casters).run();
}

}  // namespace ampc::emit
