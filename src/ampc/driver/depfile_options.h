// --depfile and what goes with it, by those names and by the ones that compilers have: -MF, -MD, -MT, -MQ, -MP.
#pragma once

#include <string>

#include "ampc/driver/command_line.h"
#include "ampc/driver/options.h"

namespace ampc::driver {

/// Adds the options to `app`; `options` outlives it.
void add_depfile_options(CLI::App& app, Options& options);

/// The command line with `-MF FILE`, `-MFFILE` and their like by their long names, which is all that CLI11 knows.
Arguments with_long_depfile_names(const Arguments& args);

/// What is wrong with the options as they were read; empty where nothing is.
std::string wrong_depfile_options(const Options& options);

}  // namespace ampc::driver
