// How a command tells its diagnostics.
#pragma once

#include <iosfwd>

#include "ampc/diag/diagnostic.h"

namespace ampc::driver {

struct ReportOptions {
  bool quiet = false;  // no notes
};

/// Writes them to `err`, in colour where that is a terminal that shows it.
void report(std::ostream& err, const Diagnostics& diagnostics, const SourceMap& sources, const ReportOptions& options);

}  // namespace ampc::driver
