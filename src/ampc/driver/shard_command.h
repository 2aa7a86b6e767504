// What `ampc plan`, `ampc cast` and `ampc link` have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "ampc/diag/diagnostic.h"
#include "ampc/driver/command_line.h"
#include "ampc/driver/depfile_options.h"
#include "ampc/driver/report.h"

namespace CLI {
class App;
}

namespace ampc::driver {

/// Options that all three take.
struct ShardOptions : DepfileOptions {
  std::string output;
  bool write_if_changed = false;
  int jobs = 0;  // 0: as many as the machine has
  ReportOptions report;
};
/// `output` says what the output is; `first` and `example` are add_depfile_options()'s.
void add_shard_options(CLI::App& app, ShardOptions& options, const std::string& output, std::string_view first,
                       std::string_view example);
/// -j, where no other option list has it.
void add_jobs_option(CLI::App& app, ShardOptions& options);

/// As parse(), with the names that compilers have for options of depfiles.
std::optional<int> parse_shard_command(CLI::App& app, std::string_view command, const Arguments& args,
                                       const ShardOptions& options, std::ostream& out, std::ostream& err);

/// Does `work`, tells what is wrong, and `summary`, which it may set, where nothing is. Gives the exit code.
int report_around(const ShardOptions& options, Diagnostics& diagnostics, const SourceMap& sources, std::ostream& err,
                  const std::function<int(std::string& summary)>& work);

/// An output and its depfile are held against `inputs`, the first of which the depfile names first. Gives the text of
/// the depfile, empty where none is asked for; nothing where something is wrong, and reports.
std::optional<std::string> depfile_text(const ShardOptions& options, std::span<const std::string> inputs,
                                        const std::string& data_file, Diagnostics& diagnostics);
void write_depfile(const ShardOptions& options, const std::string& text);

}  // namespace ampc::driver
