#include "ampc/driver/report_files.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/driver/same_file.h"
#include "ampc/emit/report_form.h"

namespace ampc::driver {

ReportFiles::ReportFiles(std::vector<std::string> files) : files_(std::move(files)) {}
ReportFiles::~ReportFiles() = default;

bool ReportFiles::apart_from(std::span<const std::string> inputs, std::span<const std::string> outputs,
                             Diagnostics& diagnostics) const {
  bool apart = true;
  const auto refuse = [&](const std::string& file, std::string_view what, const std::string& other) {
    diagnostics.error(codes::kSameFile, fmt::format("the report is {} '{}'", what, other))
        .in(file)
        .fix("give another name with --report");
    apart = false;
  };
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const std::string& input : inputs) {
      if (same_file(files_[i], input)) refuse(files_[i], "the input", input);
    }
    for (const std::string& output : outputs) {
      if (same_file(files_[i], output)) refuse(files_[i], "the output", output);
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (same_file(files_[i], files_[k])) refuse(files_[i], "another report,", files_[k]);
    }
  }
  return apart;
}

void ReportFiles::collect(const Model& model, const RuleIndex& rules, const Plan& plan, const SourceMap& sources) {
  if (wanted()) report_ = std::make_unique<nlohmann::ordered_json>(emit::report_of(model, rules, plan, sources));
}

void ReportFiles::open() {
  for (const std::string& file : files_) open_.emplace_back(file);
}

void ReportFiles::write(const emit::ReportEnd& end, const Diagnostics& diagnostics, const SourceMap& sources,
                        bool write_if_changed) {
  if (!wanted()) return;
  emit::complete_report(*report_, end, diagnostics, sources);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::string text = emit::report_text(*report_, *emit::report_form(files_[i]));
    open_[i].set_size(text.size());
    open_[i].write_at(0, std::as_bytes(std::span(text)));
  }
  emit::OutputFile::CommitOptions options;
  options.write_if_changed = write_if_changed;
  for (emit::OutputFile& file : open_) file.commit(options);
}

}  // namespace ampc::driver
