#include "ampc/build/mentions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "ampc/diag/build_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/driver/command_line.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/targets.h"

namespace ampc::build {
namespace {

using Kind = Manifest::Mention::Kind;

// Levels that ship are hardly ever missing, and a build where nothing is to be done reads no rules.
constexpr std::array<std::string_view, 4> kShipped = {"O0", "O1", "O2", "OD"};

void report(const Manifest::Mention& m, std::string_view what, const std::vector<std::string>& known,
            std::string_view none, Diagnostics& diagnostics) {
  const std::string near = did_you_mean(m.text.text, known);
  diagnostics.error(codes::kManifest, fmt::format("{} '{}'", what, m.text.text))
      .at(m.text.span)
      .fix(!near.empty()   ? near
           : known.empty() ? std::string(none)
                           : "there are " + list_of(known, false, "and"));
}

/// Levels of a rule file; nothing where it is wrong, which is for the compilation to tell.
std::optional<std::vector<std::string>> levels_of(const Manifest& manifest, const std::string& path) {
  driver::PlanOptions options;
  options.import_dirs = manifest.import_dirs;
  std::ostringstream ignored;
  driver::Compilation c(options, ignored);
  if (c.read_rules(path) != driver::kOk) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& level : c.rules->levels) names.push_back(level.name);
  return names;
}

}  // namespace

void check_mentions(const Manifest& manifest, const std::vector<std::string>& rule_paths, const std::string& installed,
                    Diagnostics& diagnostics) {
  std::vector<std::string> folders = manifest.import_dirs;
  folders.push_back(installed);
  std::vector<std::optional<std::vector<std::string>>> levels(rule_paths.size());
  bool read = false;
  for (const auto& m : manifest.mentions) {
    if (m.kind == Kind::target) {
      if (driver::find_target(m.text.text, folders).empty()) {
        report(m, "no target is called", driver::target_names(folders),
               "a profile is the file target/NAME.amp in a folder of `import_dirs`", diagnostics);
      }
      continue;
    }
    if (std::find(kShipped.begin(), kShipped.end(), m.text.text) != kShipped.end()) continue;
    for (std::size_t i = 0; !read && i < rule_paths.size(); ++i) {
      if (!rule_paths[i].empty()) levels[i] = levels_of(manifest, rule_paths[i]);
    }
    read = true;
    bool unknown = true;  // in each rule set that it is of
    std::vector<std::string> known;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (!m.rules.empty() && manifest.rules[i].name != m.rules) continue;
      if (!levels[i] || std::find(levels[i]->begin(), levels[i]->end(), m.text.text) != levels[i]->end())
        unknown = false;
      if (levels[i]) known.insert(known.end(), levels[i]->begin(), levels[i]->end());
    }
    if (!unknown) continue;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    report(m, "the rules define no level", known, "leave `level` out: the rules have none", diagnostics);
  }
}

}  // namespace ampc::build
