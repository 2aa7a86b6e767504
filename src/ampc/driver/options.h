// The command line.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "ampc/lang/rule_set.h"

namespace ampc::driver {

enum class Emit : std::uint8_t { file, ast, rules, decisions, onnx };

struct Options {
  std::string rules;
  std::string model;
  std::string output;
  std::optional<ElemType> dtype;
  std::optional<std::string> level;
  std::optional<bool> promote;
  std::optional<lang::Gray> gray;
  std::optional<lang::Io> io;
  std::optional<lang::Functions> functions;
  bool external_data = false;
  std::uint64_t threshold = 1024;                // bytes from which on a weight goes into the data file
  std::vector<std::string> rewrite, no_rewrite;  // creators, moved, redundant
  std::vector<std::string> import_dirs;
  std::vector<std::string> targets;
  std::string depfile;
  bool write_if_changed = false;
  int jobs = 0;  // 0: as many as the machine has
  Emit emit = Emit::file;
  std::string explain;
  bool quiet = false;
  bool verbose = false;
};

/// Exit codes.
inline constexpr int kOk = 0, kWrongInput = 1, kUsage = 2, kInternal = 3;

/// Nothing where the run is over: `exit` is its code then, and help, version or the error is written.
std::optional<Options> parse_options(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
                                     int& exit);

}  // namespace ampc::driver
