// `ampc RULES MODEL`: from two files to one.

#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include "onnx/defs/printer.h"
#include "onnx/onnx_pb.h"

#include "ampc/diag/diagnostic.h"
#include "ampc/diag/model_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/driver/command.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/compile_model.h"
#include "ampc/driver/options.h"
#include "ampc/driver/report.h"
#include "ampc/driver/report_files.h"
#include "ampc/driver/same_file.h"
#include "ampc/driver/write_model.h"
#include "ampc/emit/collapse.h"
#include "ampc/emit/confirm.h"
#include "ampc/emit/decisions_text.h"
#include "ampc/emit/depfile.h"
#include "ampc/emit/model_writer.h"
#include "ampc/emit/rewrite.h"
#include "ampc/emit/weight_cache.h"
#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"
#include "ampc/passes/passes.h"

namespace ampc::driver {
namespace {

namespace fs = std::filesystem;

class Run {
 public:
  Run(Options options, const CompileHooks& hooks, Compiled& compiled, const Streams& streams, bool assume)
      : o_(std::move(options)),
        hooks_(hooks),
        compiled_(compiled),
        out_(streams.out),
        err_(streams.err),
        assume_(assume),
        c_(o_, err_) {
    if (hooks.rules != nullptr) c_.share(*hooks.rules);
    diagnostics_.set_policy(policy_of(o_.report));
  }

  /// Nothing where it assumed what is not so: nothing has been written or said then.
  std::optional<int> go() {
    int code = kInternal;
    try {
      code = stages();
    } catch (const IoError& e) {
      diagnostics_.error(codes::kCannotWrite, fmt::format("{}: {}", e.message(), std::strerror(e.code()))).in(e.path());
      code = kWrongInput;
    }
    if (mistaken_) return std::nullopt;
    report(err_, diagnostics_, sources_, o_.report);
    if (code == kOk && diagnostics_.failed()) code = kWrongInput;
    compiled_.summary = summary_;
    if (code == kOk && !summary_.empty() && !o_.quiet && o_.report.form == Form::text) err_ << summary_ << '\n';
    return code;
  }

 private:
  int stages() {
    if (o_.emit == Emit::ast) {
      const auto text = lang::dump_ast(o_.rules, sources_, diagnostics_);
      if (text) out_ << *text;
      return text ? kOk : kWrongInput;
    }
    if (o_.emit == Emit::rules) {
      if (const int code = c_.read_rules(o_.rules); code != kOk) return code;
      out_ << lang::dump_rules(*c_.rules);
      return kOk;
    }
    if (const int code = c_.read(o_.rules, o_.model); code != kOk) return code;
    compiled_.rules = c_.rules->files;
    compiled_.data = c_.model->external_files;
    if (hooks_.skip) compiled_.skipped = hooks_.skip(*c_.model);
    if (!compiled_.skipped.empty()) return kOk;
    if (!o_.cache.empty()) cache_.emplace(o_.cache, o_.cache_size);
    if (const int code = decide(); code != kOk) return code;
    if (!o_.explain.empty()) return explain(*c_.model, c_.plan);
    if (o_.emit == Emit::decisions) {
      emit::print_decisions(out_, *c_.model, c_.plan, sources_);
      return kOk;
    }
    return write(*c_.model, *c_.rules, c_.index->settings().functions == lang::Functions::inlined);
  }

  int decide() {
    // What is measured when it is cast is not known to the cache, which has it from an earlier run.
    if (cache_) {
      return c_.decide(false, [&](const auto& conversion, auto source) { return cache_->measure(conversion, source); });
    }
    return c_.decide(assume_ && o_.explain.empty() && o_.reports.empty() && o_.emit == Emit::file);
  }

  int explain(const Model& model, const Plan& plan) {
    if (emit::explain_node(out_, model, plan, sources_, o_.explain)) return kOk;
    std::vector<std::string_view> names;
    for (const Node& n : model.nodes) names.emplace_back(n.proto->name());
    err_ << fmt::format("ampc: {} has no node '{}'", o_.model, o_.explain);
    if (const auto near = nearest(o_.explain, names)) err_ << fmt::format("; did you mean '{}'?", *near);
    err_ << '\n';
    return kWrongInput;
  }

  std::string output_path(ElemType low) const {
    const fs::path model(o_.model);
    std::string name = fmt::format("{}.{}.onnx", model.stem().string(), short_name(low));
    if (o_.output.empty()) return name;
    std::error_code ignored;
    return fs::is_directory(o_.output, ignored) ? (fs::path(o_.output) / name).string() : o_.output;
  }

  static std::vector<std::string> inputs_of(const Model& model, const lang::RuleSet& rules) {
    std::vector<std::string> inputs = rules.files;
    inputs.push_back(model.path);
    inputs.insert(inputs.end(), model.external_files.begin(), model.external_files.end());
    return inputs;
  }

  int write(Model& model, const lang::RuleSet& rules, bool inline_functions) {
    Plan& plan = c_.plan;
    const std::string output = output_path(plan.low);
    o_.depfile = o_.depfile_of(output);
    const std::vector<std::string> inputs = inputs_of(model, rules), outputs{output, data_path(output)};
    ReportFiles reports(o_.reports);
    if (reports.wanted()) {
      std::vector<std::string> written = outputs;
      if (!o_.depfile.empty()) written.push_back(o_.depfile);
      if (!reports.apart_from(inputs, written, diagnostics_)) return kWrongInput;
      reports.collect(model, *c_.index, plan, sources_);
    }
    emit::WeightJobs jobs(model);
    const bool as_it_is = copies_input(model, plan, o_.external_data);
    if (!plan.identity) emit::rewrite(model, plan, jobs);
    if (!as_it_is || o_.emit == Emit::onnx) emit::collapse_calls(model, plan, inline_functions, diagnostics_);
    if (o_.emit == Emit::onnx) {
      emit::materialise(model, jobs);
      out_ << onnx::ProtoToString(*model.proto) << '\n';
      return kOk;
    }
    for (const std::string& path : outputs) {
      if (overwrites_input(path, inputs, diagnostics_)) return kWrongInput;
    }
    emit::Depfile depfile;
    std::vector<std::string> others;
    if (!o_.depfile.empty()) {
      if (overwrites_input(o_.depfile, inputs, diagnostics_) || overwrites_output(o_.depfile, outputs, diagnostics_)) {
        return kWrongInput;
      }
      others = rules.files;
      others.insert(others.end(), model.external_files.begin(), model.external_files.end());
      // Who did not ask for the data file may not have told the build tool of it, and Ninja would refuse the depfile.
      depfile = emit::make_depfile(output, model.path, others, o_.external_data ? data_path(output) : std::string(),
                                   o_.depfile_style);
      for (const auto& e : depfile.errors) diagnostics_.error(codes::kDepfileName, e).in(o_.depfile);
      for (const auto& w : depfile.warnings) diagnostics_.warning(codes::kDepfileName, w).in(o_.depfile);
      if (diagnostics_.failed()) return kWrongInput;
    }
    if (!o_.unused_inputs.read(inputs, outputs, diagnostics_)) return kWrongInput;
    if (!plan.assumed.empty()) jobs.keep_stats();
    const auto confirm = [&] {
      mistaken_ = !emit::confirm(plan, jobs);
      return !mistaken_;
    };
    weights::CastRouter router(o_.cast_on);
    reports.open();
    if (cache_) cache_->fetch(jobs);
    const Written written =
        write_model(model, jobs, as_it_is, output, o_, router, confirm, cache_ ? &*cache_ : nullptr, diagnostics_);
    if (mistaken_) return kInternal;
    const emit::WeightCache* cache = cache_ ? &*cache_ : nullptr;
    note_cast_faults(cache, router, diagnostics_);
    if (diagnostics_.failed()) return kWrongInput;
    if (o_.external_data && !written.data_file) {
      depfile = emit::make_depfile(output, model.path, others, {}, o_.depfile_style);
    }
    reports.write({output, size_before(model), written.bytes}, diagnostics_, sources_, o_.write_if_changed);
    if (!o_.depfile.empty()) emit::write_depfile(o_.depfile, depfile.text);
    o_.unused_inputs.write(inputs);
    summarise(model, plan, output, written.bytes);
    compiled_.data_file = written.data_file;
    compiled_.low = plan.low_nodes;
    compiled_.fp32 = plan.fp32_nodes;
    compiled_.left = plan.left_nodes;
    compiled_.casts = plan.added_casts;
    compiled_.bytes = written.bytes;
    compiled_.warnings = diagnostics_.warnings();
    if (cache_) cache_->trim();
    if (o_.verbose) summary_ += cast_summary(cache, router);
    return kOk;
  }

  /// Bytes of the model and its data files.
  static std::uint64_t size_before(const Model& model) {
    std::uint64_t bytes = model.file_size;
    for (const MappedFile& f : model.storage->external) bytes += f.bytes().size();
    return bytes;
  }

  void summarise(const Model& model, const Plan& plan, const std::string& output, std::uint64_t after) {
    const std::uint64_t before = size_before(model);
    const auto count = [](std::size_t n, std::string_view what) {
      return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    summary_ = fmt::format("{} -> {}: {} {}, {} fp32, {} left; {} added; {} -> {}; {}", model.path, output,
                           count(plan.low_nodes, "node"), short_name(plan.low), plan.fp32_nodes, plan.left_nodes,
                           count(plan.added_casts, "cast"), size_text(before), size_text(after),
                           count(diagnostics_.warnings(), "warning"));
    if (!o_.verbose) return;
    for (const WeightPlan& w : plan.weights) {
      if (w.stats.underflow == 0 || w.storage == Storage::as_is) continue;
      summary_ += fmt::format("\n  {}: {} of {} elements become zero", model.path, w.stats.underflow, w.stats.count);
    }
  }

  Options o_;
  const CompileHooks& hooks_;
  Compiled& compiled_;
  std::ostream& out_;
  std::ostream& err_;
  bool assume_;
  bool mistaken_ = false;
  Compilation c_;
  SourceMap& sources_ = c_.sources;
  Diagnostics& diagnostics_ = c_.diagnostics;
  std::optional<emit::WeightCache> cache_;
  std::string summary_;
};

}  // namespace

int compile_command(const Arguments& args, const Streams& streams) {
  int exit = kOk;
  const auto options = parse_options(args, streams.out, streams.err, exit);
  if (!options) return exit;
  try {
    weights::cpu_caster();  // looks at AMPC_FORCE_KERNEL
  } catch (const std::invalid_argument& e) {
    streams.err << "ampc: " << e.what() << '\n';
    return kUsage;
  }
  return compile_model(*options, {}, streams).code;
}

Compiled compile_model(const Options& options, const CompileHooks& hooks, const Streams& streams) {
  // Weights are taken for ordinary and measured as they are cast; once in a while they are not, and all is done again.
  for (const bool assume : {true, false}) {
    Compiled compiled;
    if (const auto code = Run(options, hooks, compiled, streams, assume).go()) {
      compiled.code = *code;
      return compiled;
    }
  }
  return {};
}

}  // namespace ampc::driver
