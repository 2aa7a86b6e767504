// The jobs of a manifest, done: each that has to be, as many at a time as memory allows, and what came of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "ampc/build/file_state.h"
#include "ampc/build/jobs.h"
#include "ampc/build/record.h"
#include "ampc/driver/command.h"
#include "ampc/driver/compile_model.h"
#include "ampc/driver/report.h"

namespace ampc::build {

struct BatchOptions {
  bool dry_run = false, keep_going = true, shuffle = false, clean = false, quiet = false, verbose = false;
  std::uint32_t seed = 0;  // 0: drawn
  int jobs = 0;
  std::uint64_t memory = 0;  // bytes; 0: half of the machine's
  driver::ReportOptions report;
};

/// Why a job is not to be done, by the manifest and by the operators of its model; empty where it is. A model that
/// cannot be read is for the compilation to tell of.
std::string skip_reason(const Job& job);

class Batch {
 public:
  Batch(const Manifest& manifest, const std::vector<Job>& jobs, const BatchOptions& options,
        const driver::Streams& streams);
  /// The exit code. Throws IoError where no record can be kept.
  int run();

 private:
  struct State {
    std::string why;  // it is to be done; empty: it is not
    std::string skipped;
    Record record;
  };

  void look();
  std::vector<std::size_t> order();
  bool compile(std::size_t number);
  void keep(std::size_t number, const driver::Compiled& compiled, std::int64_t start);
  void left_over();
  void failed(const Job& job, const std::string& text);
  void say(std::string_view what, const std::string& text);

  const Manifest& manifest_;
  const std::vector<Job>& jobs_;
  const BatchOptions& o_;
  const driver::Streams& s_;
  std::string tool_, installed_;
  std::int64_t begun_;
  Files files_;
  driver::RuleCache rules_;
  std::vector<State> states_;
  std::mutex mutex_;  // of what follows, and of the streams
  std::size_t built_ = 0, unchanged_ = 0, skipped_ = 0, failed_ = 0;
};

}  // namespace ampc::build
