// --declared-inputs and --unused-inputs: for Bazel, which is told of all inputs beforehand, and takes a list of those
// that made no difference.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/diag/diagnostic.h"

namespace CLI {
class App;
}

namespace ampc::driver {

struct UnusedInputs {
  std::string declared;  // a file that names inputs, one a line
  std::string list;      // the file to write
  std::string names;     // what `declared` holds

  /// Adds the options to `app`, which this outlives.
  void add_options(CLI::App& app);
  /// Reads `declared`. Reports and gives false where that cannot be done, or the list would be written over a file that
  /// the run reads or writes.
  bool read(std::span<const std::string> inputs, std::span<const std::string> outputs, Diagnostics& diagnostics);
  /// Writes those that are not among the files that were read, where that is asked for. Throws IoError.
  void write(std::span<const std::string> inputs) const;
};

/// The lines of `names`, as they stand there, that name none of the files that were read, by whatever path or link
/// either is named.
std::vector<std::string> unread(std::string_view names, std::span<const std::string> read);

}  // namespace ampc::driver
