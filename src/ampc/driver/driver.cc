#include "ampc/driver/driver.h"

#include <unistd.h>

#include <cstring>
#include <exception>
#include <filesystem>
#include <future>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include "onnx/defs/printer.h"
#include "onnx/onnx_pb.h"

#include "ampc/diag/diagnostic.h"
#include "ampc/diag/model_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/driver/options.h"
#include "ampc/driver/targets.h"
#include "ampc/driver/write_model.h"
#include "ampc/emit/collapse.h"
#include "ampc/emit/decisions_text.h"
#include "ampc/emit/depfile.h"
#include "ampc/emit/model_writer.h"
#include "ampc/emit/rewrite.h"
#include "ampc/model/declared.h"
#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"
#include "ampc/passes/passes.h"

namespace ampc::driver {
namespace {

namespace fs = std::filesystem;

std::string installed_rules() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : (self.parent_path() / AMPC_RULES_DIR).lexically_normal().string();
}

class Run {
 public:
  Run(Options options, std::ostream& out, std::ostream& err) : o_(std::move(options)), out_(out), err_(err) {}

  int go() {
    std::optional<tbb::global_control> limit;
    if (o_.jobs > 0) limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(o_.jobs));
    int code = kInternal;
    try {
      code = stages();
    } catch (const IoError& e) {
      diagnostics_.error(codes::kCannotWrite, fmt::format("{}: {}", e.message(), std::strerror(e.code()))).in(e.path());
      code = kWrongInput;
    }
    render(err_, diagnostics_, sources_,
           {&err_ == &std::cerr && ::isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr, o_.quiet});
    if (code == kOk && diagnostics_.failed()) code = kWrongInput;
    if (code == kOk && !summary_.empty() && !o_.quiet) err_ << summary_ << '\n';
    return code;
  }

 private:
  int stages() {
    if (o_.emit == Emit::ast) {
      const auto text = lang::dump_ast(o_.rules, sources_, diagnostics_);
      if (text) out_ << *text;
      return text ? kOk : kWrongInput;
    }
    std::vector<std::string> folders = o_.import_dirs;
    folders.push_back(installed_rules());
    auto targets = target_files(o_.targets, folders, err_);
    if (!targets) return kUsage;
    // The two inputs know next to nothing of one another; faults of both are told in one run.
    std::promise<std::set<std::string>> domains;
    std::future<std::unique_ptr<Model>> reading;
    lang::CompileOptions options{o_.import_dirs, installed_rules(), std::move(*targets)};
    if (o_.emit != Emit::rules) {
      options.model_domains = [found = std::make_shared<std::future<std::set<std::string>>>(domains.get_future())] {
        return found->get();
      };
      reading = std::async(std::launch::async, [&] { return read(domains); });
    }
    auto rules = lang::compile(o_.rules, options, sources_, diagnostics_);
    const auto model = reading.valid() ? reading.get() : nullptr;
    diagnostics_.take(model_diagnostics_);
    if (!rules) return kWrongInput;
    if (o_.emit == Emit::rules) {
      out_ << lang::dump_rules(*rules);
      return kOk;
    }
    lang::Settings overrides;
    if (!settle_options(*rules, overrides)) return kUsage;
    if (model == nullptr) return kWrongInput;
    if (!bind_declared(*model, *rules->operators, diagnostics_)) return kWrongInput;
    infer_types(*model, diagnostics_);
    if (diagnostics_.failed()) return kWrongInput;
    const RuleIndex index(*rules, overrides, *model);
    const Plan plan = make_plan(*model, index, diagnostics_);
    if (diagnostics_.failed()) return kWrongInput;
    if (!o_.explain.empty()) return explain(*model, plan);
    if (o_.emit == Emit::decisions) {
      emit::print_decisions(out_, *model, plan, sources_);
      return kOk;
    }
    return write(*model, plan, *rules, index.settings().functions == lang::Functions::inlined);
  }

  /// Tells the rules, which may wait for it, which domains the model uses: of a file that is no model, none.
  std::unique_ptr<Model> read(std::promise<std::set<std::string>>& domains) {
    bool told = false;
    const auto tell = [&](const std::set<std::string>& found) {
      if (!std::exchange(told, true)) domains.set_value(found);
    };
    std::unique_ptr<Model> model;
    try {
      model = read_model(o_.model, model_diagnostics_, tell);
    } catch (...) {
      tell({});
      throw;
    }
    tell({});
    return model;
  }

  /// Levels and overrides; a level that no rule file defines is the caller's mistake.
  bool settle_options(lang::RuleSet& rules, lang::Settings& overrides) {
    overrides.dtype = o_.dtype;
    overrides.promote = o_.promote;
    overrides.gray = o_.gray;
    for (const auto* names : {&o_.rewrite, &o_.no_rewrite}) {
      for (const std::string& name : *names) {
        (name == "creators" ? overrides.rewrite_creators
         : name == "moved"  ? overrides.rewrite_moved
                            : overrides.rewrite_redundant) = names == &o_.rewrite;
      }
    }
    overrides.io = o_.io;
    overrides.functions = o_.functions;
    auto& settings = rules.scopes.front().settings;
    if (rules.levels.empty()) {  // rules without levels mean themselves: what they list, and fp32 for the rest
      rules.levels.emplace_back();
      settings.level = 0;
    }
    std::vector<std::string> names;
    for (const auto& l : rules.levels) names.push_back(l.name);
    if (o_.level) {
      overrides.level = rules.level(*o_.level);
      if (overrides.level) return true;
      err_ << fmt::format("ampc: the rules define no level '{}'; they define {}\n", *o_.level,
                          list_of(names, false, "and"));
      return false;
    }
    if (settings.level) return true;
    err_ << fmt::format("ampc: the rules set no level; say one of {} with --level, or `level {}` in the rule file\n",
                        list_of(names, false, "and"), names.front());
    return false;
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

  /// An input must never be overwritten, by whatever path it is named.
  bool overwrites_input(const std::string& output, const Model& model, const lang::RuleSet& rules) {
    std::vector<std::string> inputs = rules.files;
    inputs.push_back(model.path);
    inputs.insert(inputs.end(), model.external_files.begin(), model.external_files.end());
    for (const auto& input : inputs) {
      std::error_code error;
      if (!fs::equivalent(output, input, error) || error) continue;
      diagnostics_.error(codes::kSameFile, fmt::format("the output is the input '{}'", input))
          .in(output)
          .fix("give another name with -o");
      return true;
    }
    return false;
  }

  int write(Model& model, const Plan& plan, const lang::RuleSet& rules, bool inline_functions) {
    const std::string output = output_path(plan.low);
    emit::WeightJobs jobs(model);
    const bool as_it_is = plan.identity && !model.has_external && !model.reordered && !o_.external_data;
    if (!plan.identity) emit::rewrite(model, plan, jobs);
    if (!as_it_is || o_.emit == Emit::onnx) emit::collapse_calls(model, plan, inline_functions, diagnostics_);
    if (o_.emit == Emit::onnx) {
      emit::materialise(model, jobs);
      out_ << onnx::ProtoToString(*model.proto) << '\n';
      return kOk;
    }
    for (const std::string& path : {output, data_path(output)}) {
      if (overwrites_input(path, model, rules)) return kWrongInput;
    }
    emit::Depfile depfile;
    if (!o_.depfile.empty()) {
      std::vector<std::string> others = rules.files;
      others.insert(others.end(), model.external_files.begin(), model.external_files.end());
      depfile = emit::make_depfile(output, model.path, others);
      for (const auto& e : depfile.errors) diagnostics_.error(codes::kDepfileName, e).in(o_.depfile);
      for (const auto& w : depfile.warnings) diagnostics_.warning(codes::kDepfileName, w).in(o_.depfile);
      if (diagnostics_.failed()) return kWrongInput;
    }
    const std::uint64_t bytes = write_model(model, jobs, as_it_is, output, o_, diagnostics_);
    if (diagnostics_.failed()) return kWrongInput;
    if (!o_.depfile.empty()) emit::write_depfile(o_.depfile, depfile.text);
    summarise(model, plan, output, bytes);
    return kOk;
  }

  static std::string size_text(std::uint64_t bytes) {
    const auto n = static_cast<double>(bytes);
    if (bytes < 10'000) return fmt::format("{} B", bytes);
    if (bytes < 10'000'000) return fmt::format("{:.1f} kB", n / 1e3);
    if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", n / 1e6);
    return fmt::format("{:.1f} GB", n / 1e9);
  }

  void summarise(const Model& model, const Plan& plan, const std::string& output, std::uint64_t after) {
    std::uint64_t before = model.file_size;
    for (const MappedFile& f : model.storage->external) before += f.bytes().size();
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
  std::ostream& out_;
  std::ostream& err_;
  SourceMap sources_;
  Diagnostics diagnostics_;
  Diagnostics model_diagnostics_;  // of reading: an error in one input must not look like one in the other
  std::string summary_;
};

}  // namespace

int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  int exit = kOk;
  const auto options = parse_options(args, out, err, exit);
  if (!options) return exit;
  try {
    weights::cpu_caster();  // looks at AMPC_FORCE_KERNEL
  } catch (const std::invalid_argument& e) {
    err << "ampc: " << e.what() << '\n';
    return kUsage;
  }
  try {
    return Run(*options, out, err).go();
  } catch (const std::bad_alloc&) {
    err << "ampc: out of memory\n";
  } catch (const std::exception& e) {
    err << "ampc: internal error: " << e.what() << "\nplease report this with the rule file and the model\n";
  }
  return kInternal;
}

}  // namespace ampc::driver
