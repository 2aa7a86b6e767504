// What every command that decides about a model can be told: where rules are found, and what overrides them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ampc/lang/rule_set.h"

namespace CLI {
class App;
}

namespace ampc::driver {

struct PlanOptions {
  std::optional<ElemType> dtype;
  std::optional<std::string> level;
  std::optional<bool> promote;
  std::optional<lang::Gray> gray;
  std::optional<lang::Io> io;
  std::optional<lang::Functions> functions;
  std::vector<std::string> rewrite, no_rewrite;  // creators, moved, redundant
  std::vector<std::string> import_dirs;
  std::vector<std::string> targets;
  int opset = 0;  // 0: the model's own
  int jobs = 0;   // 0: as many as the machine has
};

/// Adds the options to `app`; `options` outlives it.
void add_plan_options(CLI::App& app, PlanOptions& options);
/// -I and --target alone, for commands that look at rules without a model.
void add_import_options(CLI::App& app, PlanOptions& options);

}  // namespace ampc::driver
