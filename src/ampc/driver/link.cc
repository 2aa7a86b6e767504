// `ampc link --plan PLAN SHARD... -o OUTPUT`: the output of `ampc RULES MODEL`, from its shards.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/driver/command.h"
#include "ampc/driver/progress.h"
#include "ampc/driver/same_file.h"
#include "ampc/driver/shard_command.h"
#include "ampc/driver/write_model.h"
#include "ampc/emit/output_pair.h"
#include "ampc/emit/shard_cast.h"
#include "ampc/emit/shard_link.h"

namespace ampc::driver {
namespace {

struct Settings : ShardOptions {
  std::string plan, model;
  std::vector<std::string> shards;
};

int link(const Settings& o, Diagnostics& diagnostics, std::string& summary) {
  const emit::ShardPlan plan = emit::read_plan(o.plan);
  const std::string data_output = data_path(o.output);
  std::vector<std::string> inputs{o.plan};
  inputs.insert(inputs.end(), o.shards.begin(), o.shards.end());
  std::set<std::string> compared;
  for (std::uint64_t i = 0; !o.model.empty() && i < plan.shards.size(); ++i) {
    for (std::string& file : emit::files_of(plan, i, o.model)) compared.insert(std::move(file));
  }
  inputs.insert(inputs.end(), compared.begin(), compared.end());
  // As ampc itself: who did not ask for a data file may not have told the build tool of it.
  const auto depfile = depfile_text(o, inputs, plan.asked_for_data ? data_output : std::string(), diagnostics);
  if (!depfile) return kWrongInput;
  if (overwrites_input(o.output, std::vector{plan.model}, diagnostics)) return kWrongInput;
  if (plan.data && (overwrites_input(data_output, inputs, diagnostics) || reports_links(o.output, diagnostics))) {
    return kWrongInput;
  }
  emit::ShardLinker linker(plan, o.shards);
  if (!o.model.empty()) linker.compare(o.model);
  const std::string name = std::filesystem::path(o.output).filename().string();
  const emit::Image image = linker.image(name + ".data");
  if (!plan.verbatim && image.layout.size > emit::kLargestFile) {
    diagnostics.error(codes::kTooLarge, fmt::format("the result has {} bytes without its data file", image.layout.size))
        .in(o.output)
        .fix("put smaller weights into the data file too, with ampc plan --threshold");
    return kWrongInput;
  }
  sweep_output(o.output);
  emit::OutputFile file(o.output);
  std::optional<emit::OutputFile> data;
  if (plan.data) data.emplace(data_output);
  const std::uint64_t bytes = image.layout.size + (plan.data ? plan.data->size : 0);
  Progress progress(!o.report.quiet);
  progress.begin("writing " + name, bytes, Progress::Unit::bytes);
  linker.write(image, file, data ? &*data : nullptr, [&](std::uint64_t done) { progress.add(done); });
  progress.clear();
  const emit::OutputFile::CommitOptions commit{o.write_if_changed, false};
  if (data) {
    emit::commit_pair(*data, file, commit, [&](emit::OutputFile& between, const std::string& data_name) {
      linker.write_again(linker.image(data_name), between);
    });
  } else {
    file.commit(commit);
  }
  sweep_output(o.output);
  write_depfile(o, *depfile);
  summary = fmt::format("{} -> {}: {} shard{}, {}", o.plan, o.output, o.shards.size(), o.shards.size() == 1 ? "" : "s",
                        size_text(bytes));
  return kOk;
}

}  // namespace

int link_command(const Arguments& args, const Streams& streams) {
  Settings o;
  CLI::App app("Makes of a plan and its shards what ampc RULES MODEL writes, byte for byte.", "ampc link");
  app.add_option("--plan", o.plan, "The file that ampc plan has written")->required()->type_name("FILE");
  app.add_option("SHARDS", o.shards, "What ampc cast has made of all of its shards, in any order")->required();
  app.add_option("--model", o.model,
                 "Read the model, its data beside it, and refuse shards that were cast from another")
      ->type_name("FILE");
  add_shard_options(app, o, "The compiled model", "the plan", "out.onnx has out.d");
  add_jobs_option(app, o);
  app.footer(
      "A shard knows what it was cast from: by ampc plan to the byte; by ampc plan --unmeasured the model but for its\n"
      "weights, and a sample of them. --model makes sure of the rest.\n"
      "Example: ampc link --plan model.plan 1.shard 2.shard -o model.fp16.onnx");
  if (const auto over = parse_shard_command(app, "link", args, o, streams.out, streams.err)) return *over;
  Diagnostics diagnostics;
  return report_around(o, diagnostics, {}, streams.err,
                       [&](std::string& summary) { return link(o, diagnostics, summary); });
}

}  // namespace ampc::driver
