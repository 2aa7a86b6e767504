// Names in a manifest that stand for something among the rules.
#pragma once

#include <string>
#include <vector>

#include "ampc/build/manifest.h"

namespace ampc::build {

/// Reports targets that there are no profiles of, and levels that no rule set defines. `rule_paths` are the files of
/// the manifest's rule sets, empty where one is not found; `installed` is the folder of the rules that ship.
void check_mentions(const Manifest& manifest, const std::vector<std::string>& rule_paths, const std::string& installed,
                    Diagnostics& diagnostics);

}  // namespace ampc::build
