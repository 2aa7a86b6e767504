// No output is written over a file that the run reads, or over another of its outputs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ampc/diag/diagnostic.h"

namespace ampc::driver {

/// Whether two paths name one file, which need not exist.
bool same_file(const std::string& a, const std::string& b);
/// Whether `output` is one of `inputs`, by whatever path it is named; reports.
bool overwrites_input(const std::string& output, std::span<const std::string> inputs, Diagnostics& diagnostics);
/// Whether a depfile, or what else an option names, is one of `outputs`, which need not exist; reports.
bool overwrites_output(const std::string& path, std::span<const std::string> outputs, Diagnostics& diagnostics,
                       std::string_view what = "depfile", std::string_view option = "--depfile");

}  // namespace ampc::driver
