// `ampc cast --plan PLAN --shard I/N -o SHARD`: one shard of a plan.
#include <charconv>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/driver/cast_options.h"
#include "ampc/driver/command.h"
#include "ampc/driver/progress.h"
#include "ampc/driver/shard_command.h"
#include "ampc/emit/shard_cast.h"
#include "ampc/emit/temporary_file.h"

namespace ampc::driver {
namespace {

struct Settings : ShardOptions, CastOptions {
  std::string plan, shard, model;
  bool verbose = false;
};

struct Which {
  std::uint64_t index = 0, count = 0;  // from 0; of how many
};

/// "3/16": the third of sixteen.
std::optional<Which> which(std::string_view text) {
  Which w;
  const auto number = [&](std::uint64_t& n) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc{};
  };
  if (!number(w.index) || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  if (!number(w.count) || !text.empty() || w.index == 0 || w.index > w.count) return std::nullopt;
  --w.index;
  return w;
}

}  // namespace

int cast_command(const Arguments& args, const Streams& streams) {
  Settings o;
  CLI::App app("Casts one shard of a plan. Reads only the bytes of the model that are its own.", "ampc cast");
  app.add_option("--plan", o.plan, "The file that ampc plan has written")->required()->type_name("FILE");
  app.add_option("--shard", o.shard, "Which one: 1/16 to 16/16, for a plan of 16 shards")->required()->type_name("I/N");
  app.add_option("--model", o.model, "The model, where it lies elsewhere than for ampc plan; its data beside it")
      ->type_name("FILE");
  add_shard_options(app, o, "The shard", "the plan", "3.shard has 3.d");
  app.add_flag("-v,--verbose", o.verbose, "Tell more of what was done")->excludes(app.get_option("--quiet"));
  add_cast_options(app, o);
  add_jobs_option(app, o);
  app.footer("Example: ampc cast --plan model.plan --shard 3/16 -o 3.shard");
  if (const auto over = parse_shard_command(app, "cast", args, o, streams.out, streams.err)) return *over;
  const auto asked = which(o.shard);
  if (!asked) return wrong_usage("cast", fmt::format("--shard: '{}' is none of 1/N to N/N", o.shard), streams.err);
  Diagnostics diagnostics;
  return report_around(o, diagnostics, {}, streams.err, [&](std::string& summary) {
    const emit::ShardPlan plan = emit::read_plan(o.plan);
    if (asked->count != plan.shards.size()) {
      return wrong_usage("cast",
                         fmt::format("--shard: '{}' has {} shards, not {}", o.plan, plan.shards.size(), asked->count),
                         streams.err);
    }
    const std::string model = o.model.empty() ? plan.model : o.model;
    std::vector<std::string> inputs{o.plan};
    for (std::string& file : emit::files_of(plan, asked->index, model)) inputs.push_back(std::move(file));
    const auto depfile = depfile_text(o, inputs, {}, diagnostics);
    if (!depfile) return kWrongInput;
    std::uint64_t read = 0;
    for (const auto& r : plan.shards[asked->index].ranges) read += r.size;
    emit::temporary::sweep(o.output);
    emit::OutputFile file(o.output);
    Progress progress(!o.report.quiet);
    progress.begin("casting " + o.shard, read, Progress::Unit::bytes);
    weights::CastRouter router(o.cast_on);
    std::optional<emit::WeightCache> cache;
    if (!o.cache.empty()) cache.emplace(o.cache, o.cache_size);
    emit::WeightCache* const kept = cache ? &*cache : nullptr;
    emit::cast_shard(plan, asked->index, model, file, {router, kept, [&](std::uint64_t done) { progress.add(done); }});
    progress.clear();
    note_cast_faults(kept, router, diagnostics);
    if (diagnostics.failed()) return kWrongInput;
    file.commit({o.write_if_changed, false});
    write_depfile(o, *depfile);
    if (kept != nullptr) kept->trim();
    summary = fmt::format("{} -> {}: shard {}, {}", o.plan, o.output, o.shard, size_text(read));
    if (o.verbose) summary += cast_summary(kept, router);
    return kOk;
  });
}

}  // namespace ampc::driver
