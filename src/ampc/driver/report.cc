#include "ampc/driver/report.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace ampc::driver {

void report(std::ostream& err, const Diagnostics& diagnostics, const SourceMap& sources, const ReportOptions& options) {
  const bool colour = &err == &std::cerr && ::isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  render(err, diagnostics, sources, {colour, options.quiet});
}

}  // namespace ampc::driver
