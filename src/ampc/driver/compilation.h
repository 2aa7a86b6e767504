// From the two input files to a plan: the part of the way that all commands about a model share.
#pragma once

#include <future>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <tbb/global_control.h>

#include "ampc/diag/diagnostic.h"
#include "ampc/driver/plan_options.h"
#include "ampc/driver/report.h"
#include "ampc/driver/rule_cache.h"
#include "ampc/lang/rule_set.h"
#include "ampc/model/model.h"
#include "ampc/passes/plan.h"
#include "ampc/passes/rule_index.h"

namespace ampc::driver {

/// The rules that came with the program; empty where its own path is not known.
std::string installed_rules();

/// Each step gives an exit code, kOk where the next one may follow. What is wrong stands in `diagnostics`, what is
/// wrong with the command line on `err`.
class Compilation {
 public:
  /// Limits threads as `options` say, for as long as it lives.
  Compilation(const PlanOptions& options, std::ostream& err);

  /// Rules that another model of this process has been compiled by are not read again. `cache` outlives it.
  void share(RuleCache& cache) { cache_ = &cache; }

  /// `rules` from the file, or from a text that is to stand in it, checked against every opset that they may meet.
  int read_rules(const std::string& path, std::optional<std::string> text = std::nullopt);
  /// `rules` and `model`, at the same time: faults of both are told in one run.
  int read(const std::string& rules_path, const std::string& model_path);
  /// read() and decide(), by the report's policy; tells what was wrong where they end in anything but kOk.
  int read_and_decide(const std::string& rules_path, const std::string& model_path, const ReportOptions& options);
  /// After read(): `index` and `plan`, which may `assume` of weights what is to be confirmed (emit::confirm).
  int decide(bool assume = false, const weights::Measure& measure = weights::measure_here);

  SourceMap sources;
  Diagnostics diagnostics;
  std::optional<lang::RuleSet> rules;
  std::unique_ptr<Model> model;
  std::optional<RuleIndex> index;
  Plan plan;

 private:
  std::optional<lang::CompileOptions> compile_options();
  void compile_rules(const std::string& path, const lang::CompileOptions& options);
  bool override_settings(lang::Settings& overrides);

  PlanOptions o_;
  std::ostream& err_;
  RuleCache* cache_ = nullptr;
  std::optional<tbb::global_control> limit_;
  lang::Settings overrides_;
};

}  // namespace ampc::driver
