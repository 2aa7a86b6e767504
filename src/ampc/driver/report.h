// How a command tells its diagnostics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "ampc/diag/diagnostic.h"

namespace CLI {
class App;
}

namespace ampc::driver {

enum class Form : std::uint8_t { text, json, sarif };
enum class Colour : std::uint8_t { automatic, always, never };

struct ReportOptions {
  Form form = Form::text;
  Colour colour = Colour::automatic;
  std::vector<std::string> warnings;  // of -W: "error", "no-unused-rule"
  std::size_t max_errors = 0;         // 0: all
  bool quiet = false;                 // no notes
};

/// --diagnostics, --color, -W and --max-errors; `options` outlives `app`.
void add_report_options(CLI::App& app, ReportOptions& options);

/// What -W asks for, to be set before anything is reported.
WarningPolicy policy_of(const ReportOptions& options);

/// Writes them to `err`. Colour and width are those of the terminal, where that is one.
void report(std::ostream& err, const Diagnostics& diagnostics, const SourceMap& sources, const ReportOptions& options);

/// "945.1 MB"
std::string size_text(std::uint64_t bytes);

}  // namespace ampc::driver
