// `--target ort-cpu`: profiles of runtimes among the rule files.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace ampc::driver {

/// Targets that the folders have profiles of, sorted.
std::vector<std::string> target_names(const std::vector<std::string>& folders);
/// The file of a target's profile, from the first of the folders that has it; empty where none has.
std::string find_target(const std::string& name, const std::vector<std::string>& folders);

/// The profile `target/NAME.amp` of each name, from the first of the folders that has it. A name that none has is
/// reported with those that there are; the result is then empty.
std::optional<std::vector<std::string>> target_files(const std::vector<std::string>& names,
                                                     const std::vector<std::string>& folders, std::ostream& err);

}  // namespace ampc::driver
