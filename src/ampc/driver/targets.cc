#include "ampc/driver/targets.h"

#include <filesystem>
#include <ostream>
#include <set>

#include <fmt/format.h>

#include "ampc/diag/suggest.h"

namespace ampc::driver {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<std::string> target_names(const std::vector<std::string>& folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator it(fs::path(folder) / "target", error), end; !error && it != end; it.increment(error)) {
      if (it->path().extension() == ".amp") names.insert(it->path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::string find_target(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) return {};
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / "target" / (name + ".amp");
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path.lexically_normal().string();
  }
  return {};
}

std::optional<std::vector<std::string>> target_files(const std::vector<std::string>& names,
                                                     const std::vector<std::string>& folders, std::ostream& err) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    paths.push_back(find_target(name, folders));
    if (!paths.back().empty()) continue;
    const std::vector<std::string> known = target_names(folders);
    err << fmt::format("ampc: no target is called '{}'", name);
    if (const auto near = nearest(name, known)) err << fmt::format("; did you mean '{}'?", *near);
    err << (known.empty() ? "\nno folder of rules has profiles of targets\n"
                          : fmt::format("\ntargets are {}; a file elsewhere is imported by the rules\n",
                                        list_of(known, false, "and")));
    return std::nullopt;
  }
  return paths;
}

}  // namespace ampc::driver
