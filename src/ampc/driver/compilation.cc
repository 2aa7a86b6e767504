#include "ampc/driver/compilation.h"

#include <filesystem>
#include <functional>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ampc/diag/suggest.h"
#include "ampc/driver/command_line.h"
#include "ampc/driver/targets.h"
#include "ampc/model/declared.h"
#include "ampc/passes/passes.h"

namespace ampc::driver {
namespace {

namespace fs = std::filesystem;

/// Tells the rules, which may wait for it, which domains the model uses: of a file that is no model, none.
std::unique_ptr<Model> read_and_tell(const std::string& path, Diagnostics& diagnostics,
                                     std::promise<std::set<std::string>>& domains, int opset) {
  bool told = false;
  const auto tell = [&](const std::set<std::string>& found) {
    if (!std::exchange(told, true)) domains.set_value(found);
  };
  std::unique_ptr<Model> model;
  try {
    model = read_model(path, diagnostics, tell, opset);
  } catch (...) {
    tell({});
    throw;
  }
  tell({});
  return model;
}

}  // namespace

std::string installed_rules() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : (self.parent_path() / AMPC_RULES_DIR).lexically_normal().string();
}

Compilation::Compilation(const PlanOptions& options, std::ostream& err) : o_(options), err_(err) {
  if (o_.jobs > 0) limit_.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(o_.jobs));
}

std::optional<lang::CompileOptions> Compilation::compile_options() {
  std::vector<std::string> folders = o_.import_dirs;
  folders.push_back(installed_rules());
  auto targets = target_files(o_.targets, folders, err_);
  if (!targets) return std::nullopt;
  return lang::CompileOptions{o_.import_dirs, installed_rules(), std::move(*targets)};
}

int Compilation::read_rules(const std::string& path, std::optional<std::string> text) {
  auto options = compile_options();
  if (!options) return kUsage;
  options->root_text = std::move(text);
  rules = lang::compile(path, *options, sources, diagnostics);
  return rules ? kOk : kWrongInput;
}

void Compilation::compile_rules(const std::string& path, const lang::CompileOptions& options) {
  if (cache_ == nullptr) {
    rules = lang::compile(path, options, sources, diagnostics);
    return;
  }
  lang::CompileOptions met = options;
  met.model_domains = [domains = options.model_domains()] { return domains; };
  const std::string key = RuleCache::key(path, met);
  if (const auto known = cache_->find(key)) {
    rules = known->rules;
    sources = known->sources;
    return;
  }
  rules = lang::compile(path, met, sources, diagnostics);
  // What there is to say is said for each model.
  if (rules && diagnostics.sorted(sources).empty()) cache_->keep(key, {*rules, sources});
}

int Compilation::read(const std::string& rules_path, const std::string& model_path) {
  auto options = compile_options();
  if (!options) return kUsage;
  Diagnostics of_model;  // an error in one input must not look like one in the other
  std::promise<std::set<std::string>> domains;
  options->model_domains = [found = std::make_shared<std::future<std::set<std::string>>>(domains.get_future())] {
    return found->get();
  };
  auto reading = std::async(std::launch::async, [&] { return read_and_tell(model_path, of_model, domains, o_.opset); });
  compile_rules(rules_path, *options);
  model = reading.get();
  diagnostics.take(of_model);
  if (!rules) return kWrongInput;
  if (!override_settings(overrides_)) return kUsage;
  return model == nullptr ? kWrongInput : kOk;
}

int Compilation::decide(bool assume, const weights::Measure& measure) {
  if (!bind_declared(*model, *rules->operators, diagnostics)) return kWrongInput;
  infer_types(*model, diagnostics);
  if (diagnostics.failed()) return kWrongInput;
  index.emplace(*rules, overrides_, *model);
  plan = make_plan(*model, *index, diagnostics, assume, measure);
  return diagnostics.failed() ? kWrongInput : kOk;
}

int Compilation::read_and_decide(const std::string& rules_path, const std::string& model_path,
                                 const ReportOptions& options) {
  diagnostics.set_policy(policy_of(options));
  int code = read(rules_path, model_path);
  if (code == kOk) code = decide();
  if (code != kOk) report(err_, diagnostics, sources, options);
  return code;
}

/// Levels and overrides; a level that no rule file defines is the caller's mistake.
bool Compilation::override_settings(lang::Settings& overrides) {
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
  auto& settings = rules->scopes.front().settings;
  if (rules->levels.empty()) {  // rules without levels mean themselves: what they list, and fp32 for the rest
    rules->levels.emplace_back();
    settings.level = 0;
  }
  std::vector<std::string> names;
  for (const auto& l : rules->levels) names.push_back(l.name);
  if (o_.level) {
    overrides.level = rules->level(*o_.level);
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

}  // namespace ampc::driver
