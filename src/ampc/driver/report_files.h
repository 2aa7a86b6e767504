// --report: what a compilation has done, in files beside its output.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ampc/diag/diagnostic.h"
#include "ampc/emit/output_file.h"
#include "ampc/emit/report_data.h"

namespace ampc::driver {

/// Its functions are called in this order; without files, collect(), open() and write() do nothing.
class ReportFiles {
 public:
  explicit ReportFiles(std::vector<std::string> files);
  ~ReportFiles();
  ReportFiles(const ReportFiles&) = delete;
  ReportFiles& operator=(const ReportFiles&) = delete;

  bool wanted() const { return !files_.empty(); }
  /// False, with an error, where a report's file is an input, another output or another report.
  bool apart_from(std::span<const std::string> inputs, std::span<const std::string> outputs,
                  Diagnostics& diagnostics) const;
  /// What is to be told of the plan, while the model is as it was read.
  void collect(const Model& model, const RuleIndex& rules, const Plan& plan, const SourceMap& sources);
  /// Finds out whether the files can be written, before the model is. Throws IoError.
  void open();
  /// Puts them in their places. Throws IoError.
  void write(const emit::ReportEnd& end, const Diagnostics& diagnostics, const SourceMap& sources,
             bool write_if_changed);

 private:
  std::vector<std::string> files_;
  std::unique_ptr<nlohmann::ordered_json> report_;
  std::deque<emit::OutputFile> open_;
};

}  // namespace ampc::driver
