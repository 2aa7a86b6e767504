// The options of `ampc RULES MODEL`.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "ampc/driver/cast_options.h"
#include "ampc/driver/command_line.h"
#include "ampc/driver/depfile_options.h"
#include "ampc/driver/plan_options.h"
#include "ampc/driver/report.h"
#include "ampc/driver/unused_inputs.h"

namespace ampc::driver {

enum class Emit : std::uint8_t { file, ast, rules, decisions, onnx };

struct Options : PlanOptions, DepfileOptions, CastOptions {
  std::string rules;
  std::string model;
  std::string output;
  bool external_data = false;
  std::uint64_t threshold = 1024;  // bytes from which on a weight goes into the data file
  UnusedInputs unused_inputs;
  bool write_if_changed = false;
  Emit emit = Emit::file;
  std::string explain;
  std::vector<std::string> reports;  // files; the ending says which form
  ReportOptions report;
  bool quiet = false;
  bool verbose = false;
};

/// Nothing where the run is over: `exit` is its code then, and help, version or the error is written.
std::optional<Options> parse_options(const Arguments& args, std::ostream& out, std::ostream& err, int& exit);

}  // namespace ampc::driver
