// What a compilation has done, as one tree of JSON: the only thing that the forms of a report (report_form.h) know.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "ampc/diag/diagnostic.h"
#include "ampc/passes/plan.h"
#include "ampc/passes/rule_index.h"

namespace ampc::emit {

/// Everything but the output and the warnings, from the model as it was read: before rewrite(). Measures weights that
/// the plan has not measured, in parallel; the tree is the same for any number of threads.
nlohmann::ordered_json report_of(const Model& m, const RuleIndex& rules, const Plan& plan, const SourceMap& sources);

/// What is known at the end only; sizes in bytes, of the model with its data files.
struct ReportEnd {
  std::string output;
  std::uint64_t before = 0, after = 0;
};
void complete_report(nlohmann::ordered_json& report, const ReportEnd& end, const Diagnostics& diagnostics,
                     const SourceMap& sources);

/// The model's weights in fp32, each with its range and what the low type would make of it.
nlohmann::ordered_json weights_report(const Model& m, const Plan& plan);

}  // namespace ampc::emit
