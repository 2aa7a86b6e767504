// The outputs that a manifest asks for.
#pragma once

#include <string>
#include <vector>

#include "ampc/build/manifest.h"

namespace ampc::build {

/// One output. Paths are as the manifest's folder sees them, or absolute.
struct Job {
  std::string model, rules, output;
  std::string dtype;
  std::vector<std::string> import_dirs;
  std::vector<std::string> options;  // of `ampc RULES MODEL`, without paths
  bool external_data = false;
  std::string skip;             // a reason of the manifest's own
  std::vector<SkipIf> skip_if;  // those that this data type may meet
  std::string label;            // "big/model.onnx fp16", with rule set and target where there are several
};

/// models × rule sets × data types × targets, in this order. `installed` is the folder of the rules that ship. Reports
/// what means nothing; the result is empty then.
std::vector<Job> make_jobs(const Manifest& manifest, const std::string& installed, Diagnostics& diagnostics);

/// The command line of a job, behind the program's name. `place` says where each path is seen from.
template <typename Place>
std::vector<std::string> arguments(const Job& job, const Place& place) {
  std::vector<std::string> args;
  for (const std::string& dir : job.import_dirs) args.insert(args.end(), {"-I", place(dir)});
  args.insert(args.end(), job.options.begin(), job.options.end());
  args.insert(args.end(), {"-o", place(job.output), "--", place(job.rules), place(job.model)});
  return args;
}

}  // namespace ampc::build
