// --depfile and what goes with it, by those names and by the ones that compilers have: -MF, -MD, -MT, -MQ, -MP.
#pragma once

#include <string>
#include <string_view>

#include "ampc/driver/command_line.h"
#include "ampc/emit/depfile.h"

namespace ampc::driver {

struct DepfileOptions {
  std::string depfile;
  bool depfile_beside = false;  // beside the output, where `depfile` names none
  emit::DepfileStyle depfile_style;

  /// The depfile of this output; empty where none is asked for.
  std::string depfile_of(const std::string& output) const;
};

/// Adds the options to `app`; `options` outlives it. `first` is what a depfile names first, "the model", and `example`
/// an output and the depfile beside it.
void add_depfile_options(CLI::App& app, DepfileOptions& options, std::string_view first, std::string_view example);

/// The command line with `-MF FILE`, `-MFFILE` and their like by their long names, which is all that CLI11 knows.
Arguments with_long_depfile_names(const Arguments& args);

/// What is wrong with the options as they were read; empty where nothing is.
std::string wrong_depfile_options(const DepfileOptions& options);

}  // namespace ampc::driver
