// `ampc RULES MODEL` for callers that compile many.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ampc/driver/command.h"
#include "ampc/driver/options.h"
#include "ampc/driver/rule_cache.h"
#include "ampc/model/model.h"

namespace ampc::driver {

struct CompileHooks {
  RuleCache* rules = nullptr;                     // shared with other models
  std::function<std::string(const Model&)> skip;  // a reason not to compile this model; empty for none
};

struct Compiled {
  int code = kInternal;
  std::string skipped;             // the reason
  std::vector<std::string> rules;  // every rule file reached
  std::vector<std::string> data;   // data files of the model
  bool data_file = false;          // the output has one
  std::uint64_t low = 0, fp32 = 0, left = 0, casts = 0, bytes = 0, warnings = 0;
  std::string summary;
};

/// Compiles one model, and tells what is wrong on `streams.err`. Models of other outputs may be compiled at the same
/// time.
Compiled compile_model(const Options& options, const CompileHooks& hooks, const Streams& streams);

}  // namespace ampc::driver
