// A manifest's work as a Ninja file.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ampc/build/jobs.h"

namespace ampc::build {

struct NinjaPlace {
  std::string program;   // absolute
  std::string manifest;  // as the file that is written sees it
  std::string folder;    // the manifest's, as the file that is written sees it; "." for the same
};

/// The text of the file: an edge for each job but the `skipped` ones, with a depfile, and none of them run where its
/// output does not change. A name that Ninja cannot take is in `errors`.
std::string ninja_file(const std::vector<Job>& jobs, const std::vector<std::string>& skipped, const NinjaPlace& place,
                       std::vector<std::string>& errors);

}  // namespace ampc::build
