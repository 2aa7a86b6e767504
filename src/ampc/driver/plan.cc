// `ampc plan RULES MODEL -o PLAN`: all that is decided, and the weights left to others.
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/driver/command.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/shard_command.h"
#include "ampc/driver/unused_inputs.h"
#include "ampc/driver/write_model.h"
#include "ampc/emit/collapse.h"
#include "ampc/emit/data_file.h"
#include "ampc/emit/rewrite.h"
#include "ampc/emit/shard_split.h"
#include "ampc/emit/temporary_file.h"
#include "ampc/emit/weight_jobs.h"

namespace ampc::driver {
namespace {

struct Settings : PlanOptions, ShardOptions {
  std::string rules, model;
  std::uint64_t shards = 1;
  bool external_data = false;
  std::uint64_t threshold = emit::kDataThreshold;
  bool unmeasured = false;
  UnusedInputs unused_inputs;
};

int make(Settings& o, Compilation& c, std::string& summary) {
  if (const int code = c.read(o.rules, o.model); code != kOk) return code;
  if (const int code = c.decide(o.unmeasured); code != kOk) return code;
  Model& model = *c.model;
  std::vector<std::string> inputs{model.path};
  inputs.insert(inputs.end(), c.rules->files.begin(), c.rules->files.end());
  inputs.insert(inputs.end(), model.external_files.begin(), model.external_files.end());
  const auto depfile = depfile_text(o, inputs, {}, c.diagnostics);
  const std::vector<std::string> outputs{o.output};
  if (!depfile || !o.unused_inputs.read(inputs, outputs, c.diagnostics)) return kWrongInput;

  emit::WeightJobs jobs(model);
  emit::SplitOptions split{o.shards, false, !o.unmeasured};
  split.as_it_is = copies_input(model, c.plan, o.external_data);
  if (!c.plan.identity) emit::rewrite(model, c.plan, jobs);
  OutputLayout layout;
  if (!split.as_it_is) {
    emit::collapse_calls(model, c.plan, c.index->settings().functions == lang::Functions::inlined, c.diagnostics);
    auto made = lay_out(model, jobs, std::string(emit::ShardPlan::kDataName), o.external_data, o.threshold, o.output,
                        c.diagnostics);
    if (!made) return kWrongInput;
    layout = std::move(*made);
  }
  emit::ShardPlan plan = emit::split(model, jobs, c.plan, std::move(layout.data), split);
  plan.asked_for_data = o.external_data && plan.data;
  const std::string text = emit::plan_text(plan);
  if (reports_changes(model, c.diagnostics)) return kWrongInput;
  emit::temporary::sweep(o.output);
  emit::OutputFile file(o.output);
  file.write_at(0, std::as_bytes(std::span(text.data(), text.size())));
  file.commit({o.write_if_changed, false});
  write_depfile(o, *depfile);
  o.unused_inputs.write(inputs);
  std::uint64_t read = 0, written = 0;
  for (const auto& job : plan.jobs) {
    if (job.kind == emit::ShardPlan::Kind::ready) continue;
    read += job.size;
    written += job.result_size();
  }
  summary =
      fmt::format("{} -> {}: {} of {} -> {}; {} warning{}", o.model, o.output,
                  plan.shards.size() == 1 ? "1 shard" : fmt::format("{} shards", plan.shards.size()), size_text(read),
                  size_text(written), c.diagnostics.warnings(), c.diagnostics.warnings() == 1 ? "" : "s");
  return kOk;
}

}  // namespace

int plan_command(const Arguments& args, const Streams& streams) {
  Settings o;
  CLI::App app("Decides all, and leaves the weights to runs of ampc cast, on this machine or others.", "ampc plan");
  app.add_option("RULES", o.rules, "Rule file (.amp)")->required();
  app.add_option("MODEL", o.model, "ONNX model")->required();
  app.add_option("--shards", o.shards, "Parts of about as many bytes, for ampc cast")
      ->check(CLI::Range(1, 65536))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--unmeasured", o.unmeasured,
               "Read no more than a sample of the weights: ampc link refuses the plan where one turns out to be out of "
               "range, and needs --model to be sure of the bytes between");
  app.add_flag("--external-data", o.external_data,
               "Weights in a file beside the output, as is done by itself beyond 2 GiB");
  app.add_option("--threshold", o.threshold, "Least bytes of a weight that goes into that file")
      ->type_name("BYTES")
      ->capture_default_str();
  add_plan_options(app, o);
  add_shard_options(app, o, "The plan", "the model", "model.plan has model.d");
  o.unused_inputs.add_options(app);
  app.footer(
      "Example: ampc plan rules/default.amp model.onnx -o model.plan --shards 2\n"
      "         ampc cast --plan model.plan --shard 1/2 -o 1.shard\n"
      "         ampc cast --plan model.plan --shard 2/2 -o 2.shard\n"
      "         ampc link --plan model.plan 1.shard 2.shard -o model.fp16.onnx");
  if (const auto over = parse_shard_command(app, "plan", args, o, streams.out, streams.err)) return *over;
  Compilation c(o, streams.err);
  return report_around(o, c.diagnostics, c.sources, streams.err,
                       [&](std::string& summary) { return make(o, c, summary); });
}

}  // namespace ampc::driver
