#include "ampc/driver/shard_command.h"

#include <cstring>
#include <ostream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/driver/command_line.h"
#include "ampc/driver/same_file.h"
#include "ampc/emit/depfile.h"
#include "ampc/emit/output_file.h"
#include "ampc/emit/shard_plan.h"
#include "ampc/weights/caster.h"

namespace ampc::driver {

void add_shard_options(CLI::App& app, ShardOptions& o, const std::string& output, std::string_view first,
                       std::string_view example) {
  app.add_option("-o,--output", o.output, output)->required()->type_name("FILE");
  add_depfile_options(app, o, first, example);
  app.add_flag("--write-if-changed", o.write_if_changed, "Leave an output of the same bytes alone");
  add_report_options(app, o.report);
  app.add_flag("-q,--quiet", o.report.quiet, "No summary, no notes");
}

void add_jobs_option(CLI::App& app, ShardOptions& o) {
  app.add_option("-j,--jobs", o.jobs, "Threads; the output is the same for any number")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
}

std::optional<int> parse_shard_command(CLI::App& app, std::string_view command, const Arguments& args,
                                       const ShardOptions& options, std::ostream& out, std::ostream& err) {
  if (const auto over = parse(app, with_long_depfile_names(args), out, err)) return over;
  const std::string wrong = wrong_depfile_options(options);
  if (!wrong.empty()) return wrong_usage(command, wrong, err);
  return std::nullopt;
}

int report_around(const ShardOptions& options, Diagnostics& diagnostics, const SourceMap& sources, std::ostream& err,
                  const std::function<int(std::string& summary)>& work) {
  try {
    weights::cpu_caster();  // looks at AMPC_FORCE_KERNEL
  } catch (const std::invalid_argument& e) {
    err << "ampc: " << e.what() << '\n';
    return kUsage;
  }
  diagnostics.set_policy(policy_of(options.report));
  std::optional<tbb::global_control> limit;
  if (options.jobs > 0) {
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(options.jobs));
  }
  int code = kInternal;
  std::string summary;
  try {
    code = work(summary);
  } catch (const IoError& e) {
    diagnostics.error(codes::kCannotWrite, fmt::format("{}: {}", e.message(), std::strerror(e.code()))).in(e.path());
    code = kWrongInput;
  } catch (const emit::ShardFault& e) {
    auto& d = diagnostics.error(e.code(), e.what()).in(e.place());
    if (!e.fix().empty()) d.fix(e.fix());
    code = kWrongInput;
  }
  report(err, diagnostics, sources, options.report);
  if (code == kOk && diagnostics.failed()) code = kWrongInput;
  if (code == kOk && !summary.empty() && !options.report.quiet && options.report.form == Form::text) {
    err << summary << '\n';
  }
  return code;
}

std::optional<std::string> depfile_text(const ShardOptions& options, std::span<const std::string> inputs,
                                        const std::string& data_file, Diagnostics& diagnostics) {
  std::vector<std::string> outputs{options.output};
  if (!data_file.empty()) outputs.push_back(data_file);
  for (const std::string& output : outputs) {
    if (overwrites_input(output, inputs, diagnostics)) return std::nullopt;
  }
  const std::string file = options.depfile_of(options.output);
  if (file.empty()) return std::string();
  if (overwrites_input(file, inputs, diagnostics) || overwrites_output(file, outputs, diagnostics)) return std::nullopt;
  const emit::Depfile depfile =
      emit::make_depfile(options.output, inputs.front(), inputs.subspan(1), data_file, options.depfile_style);
  for (const auto& e : depfile.errors) diagnostics.error(codes::kDepfileName, e).in(file);
  for (const auto& w : depfile.warnings) diagnostics.warning(codes::kDepfileName, w).in(file);
  if (diagnostics.failed()) return std::nullopt;
  return depfile.text;
}

void write_depfile(const ShardOptions& options, const std::string& text) {
  const std::string file = options.depfile_of(options.output);
  if (!file.empty()) emit::write_depfile(file, text);
}

}  // namespace ampc::driver
