#include "ampc/emit/shard_plan.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/emit/content_hash.h"
#include "ampc/model/mapped_file.h"

namespace ampc::emit {
namespace {

using nlohmann::json;

// The first line says what the file is, and which: "ampc plan 2 HASH", of all that follows. The second is JSON; then
// come the skeleton and the results.
constexpr std::string_view kMagic = "ampc plan ";
constexpr std::string_view kVersion = "2";
constexpr std::size_t kHashDigits = 32;
constexpr std::string_view kAgain = "make the plan again with ampc plan";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

json to_json(const ShardPlan& plan) {
  json j = {{"tool", plan.tool},
            {"model", plan.model},
            {"frame", plan.frame},
            {"skeleton", plan.skeleton.size()},
            {"results", plan.results.size()},
            {"verbatim", plan.verbatim},
            {"sources", json::array()},
            {"jobs", json::array()},
            {"assumptions", json::array()},
            {"shards", json::array()}};
  for (const auto& s : plan.sources) j["sources"].push_back({s.location, s.size});
  for (const auto& job : plan.jobs) {
    const auto& c = job.conversion;
    j["jobs"].push_back({static_cast<int>(job.kind), job.source, job.offset, job.size, static_cast<int>(c.from),
                         static_cast<int>(c.to), c.clamp, job.measured});
  }
  for (const auto& a : plan.assumptions) j["assumptions"].push_back({a.weight, a.job, a.most_underflow});
  for (const auto& shard : plan.shards) {
    json ranges = json::array();
    for (const auto& r : shard.ranges) ranges.push_back({r.job, r.begin, r.size});
    j["shards"].push_back({{"hash", shard.hash}, {"sample", shard.sample}, {"ranges", std::move(ranges)}});
  }
  if (plan.data) {
    json pieces = json::array();
    for (const auto& p : plan.data->pieces) pieces.push_back({p.job, p.offset, p.size});
    j["data"] = {{"asked", plan.asked_for_data}, {"size", plan.data->size}, {"pieces", std::move(pieces)}};
  }
  return j;
}

ShardPlan from_json(const json& j) {
  ShardPlan plan;
  j.at("tool").get_to(plan.tool);
  j.at("model").get_to(plan.model);
  j.at("frame").get_to(plan.frame);
  j.at("verbatim").get_to(plan.verbatim);
  for (const json& s : j.at("sources")) plan.sources.push_back({s.at(0), s.at(1)});
  for (const json& job : j.at("jobs")) {
    plan.jobs.push_back({static_cast<ShardPlan::Kind>(job.at(0).get<int>()),
                         job.at(1),
                         job.at(2),
                         job.at(3),
                         {static_cast<ElemType>(job.at(4).get<int>()), static_cast<ElemType>(job.at(5).get<int>()),
                          job.at(6).get<bool>()},
                         job.at(7).get<bool>()});
  }
  for (const json& a : j.at("assumptions")) plan.assumptions.push_back({a.at(0), a.at(1), a.at(2)});
  for (const json& s : j.at("shards")) {
    auto& shard = plan.shards.emplace_back();
    s.at("hash").get_to(shard.hash);
    s.at("sample").get_to(shard.sample);
    for (const json& r : s.at("ranges")) shard.ranges.push_back({r.at(0), r.at(1), r.at(2)});
  }
  if (const auto data = j.find("data"); data != j.end()) {
    data->at("asked").get_to(plan.asked_for_data);
    auto& layout = plan.data.emplace();
    data->at("size").get_to(layout.size);
    for (const json& p : data->at("pieces")) layout.pieces.push_back({p.at(0), p.at(1), p.at(2)});
  }
  return plan;
}

bool within(std::uint64_t begin, std::uint64_t size, std::uint64_t whole) {
  return begin <= whole && size <= whole - begin;
}

bool possible(const ShardPlan& plan, const ShardPlan::Job& job) {
  using Kind = ShardPlan::Kind;
  if (job.kind == Kind::ready) return within(job.offset, job.size, plan.results.size());
  if (job.kind > Kind::ready || job.source >= plan.sources.size()) return false;
  if (!within(job.offset, job.size, plan.sources[job.source].size)) return false;
  if (job.kind == Kind::copy) return !job.measured;
  const ElemType from = job.conversion.from;
  return (from == ElemType::float32 || from == ElemType::float64) && is_low(job.conversion.to) &&
         job.size % byte_size(from) == 0;
}

/// A location leads nowhere but below the model's folder.
bool stays_below(const std::string& location) {
  const std::filesystem::path path(location);
  return !path.is_absolute() && std::find(path.begin(), path.end(), "..") == path.end();
}

/// Whoever wrote the file, nothing out of its bounds is read or written by it.
bool sound(const ShardPlan& plan) {
  const auto below = [](const auto& s) { return stays_below(s.location); };
  if (plan.shards.empty() || plan.sources.empty() || !std::all_of(plan.sources.begin(), plan.sources.end(), below))
    return false;
  if (plan.verbatim && plan.jobs.size() != 1) return false;
  for (const auto& job : plan.jobs) {
    if (!possible(plan, job)) return false;
  }
  for (const auto& a : plan.assumptions) {
    if (a.job >= plan.jobs.size() || !plan.jobs[a.job].measured) return false;
  }
  // The ranges are the jobs from their first byte to their last, in order.
  std::uint64_t job = 0, at = 0;
  const auto pass = [&] {
    while (job < plan.jobs.size() && (plan.jobs[job].kind == ShardPlan::Kind::ready || at == plan.jobs[job].size)) {
      ++job;
      at = 0;
    }
  };
  for (const auto& shard : plan.shards) {
    for (const auto& r : shard.ranges) {
      pass();
      if (r.job != job || job == plan.jobs.size() || r.begin != at) return false;
      const auto& j = plan.jobs[job];
      if (!within(r.begin, r.size, j.size)) return false;
      if (j.kind != ShardPlan::Kind::copy && r.size % byte_size(j.conversion.from) != 0) return false;
      at += r.size;
    }
  }
  pass();
  if (job != plan.jobs.size()) return false;
  if (!plan.data) return true;
  const DataLayout& data = *plan.data;
  return std::all_of(data.pieces.begin(), data.pieces.end(), [&](const DataLayout::Piece& p) {
    return p.job < plan.jobs.size() && p.size == plan.jobs[p.job].result_size() && within(p.offset, p.size, data.size);
  });
}

}  // namespace

std::uint64_t ShardPlan::Job::result_size(std::uint64_t bytes) const {
  if (kind == Kind::measure) return 0;
  if (kind != Kind::cast) return bytes;
  return bytes / byte_size(conversion.from) * byte_size(conversion.to);
}

ShardFault unreadable(const std::string& path, int error, std::string_view what, std::string fix) {
  return {codes::kCannotRead, path, fmt::format("cannot read {}: {}", what, std::generic_category().message(error)),
          std::move(fix)};
}

std::string plan_text(ShardPlan& plan) {
  std::string text = to_json(plan).dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  text += plan.skeleton;
  text += plan.results;
  plan.id = content_hash(bytes_of(text));
  return fmt::format("{}{} {}\n", kMagic, kVersion, plan.id) + text;
}

ShardPlan read_plan(const std::string& path) {
  const auto fault = [&](const std::string& message, std::string_view fix = kAgain) {
    return ShardFault(codes::kBadPlan, path, message, std::string(fix));
  };
  MappedFile file;
  try {
    file = MappedFile(path);
  } catch (const std::system_error& e) {
    throw unreadable(path, e.code().value(), "the plan");
  }
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (!text.starts_with(kMagic)) throw fault("this is no plan", "give the file that ampc plan has written");
  const std::size_t line = text.find('\n');
  const std::string_view first = text.substr(kMagic.size(), std::min(line, text.size()) - kMagic.size());
  if (const std::string_view version = first.substr(0, first.find(' ')); version != kVersion) {
    throw fault(fmt::format("this plan has format {}; this ampc reads format {}", version, kVersion));
  }
  if (first.size() != kVersion.size() + 1 + kHashDigits || line == std::string_view::npos) {
    throw fault("the plan is damaged");
  }
  text.remove_prefix(line + 1);
  const std::string id(first.substr(kVersion.size() + 1));
  if (content_hash(bytes_of(text)) != id) throw fault("the plan is damaged");
  ShardPlan plan;
  try {
    const std::size_t end = text.find('\n');
    const json j = json::parse(text.substr(0, end));
    plan = from_json(j);
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
    const std::size_t skeleton = j.at("skeleton"), results = j.at("results");
    if (!within(skeleton, results, text.size())) throw fault("the plan is damaged");
    plan.skeleton = text.substr(0, skeleton);
    plan.results = text.substr(skeleton, results);
  } catch (const json::exception&) {
    throw fault("the plan is damaged");
  }
  plan.id = id;
  if (plan.tool != AMPC_VERSION) {
    throw fault(fmt::format("ampc {} made this plan, and this is ampc {}", plan.tool, AMPC_VERSION),
                "use one version for plan, cast and link");
  }
  if (!sound(plan)) throw fault("the plan is damaged");
  return plan;
}

std::vector<Slice> slices_of(const ShardPlan& plan, const ShardPlan::Shard& shard) {
  std::vector<Slice> slices;
  std::uint64_t offset = 0;
  for (const auto& r : shard.ranges) {
    const auto& job = plan.jobs[r.job];
    for (std::uint64_t at = 0; at < r.size; at += slices.back().size) {
      const std::uint64_t size = std::min(kSliceBytes, r.size - at);
      const std::uint64_t begin = r.begin + at;
      slices.push_back({r.job, begin, size, offset, job.result_size(size), job.result_size(begin)});
      offset += slices.back().result_size;
    }
  }
  return slices;
}

}  // namespace ampc::emit
