#include "ampc/driver/unused_inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/diag/whole_file.h"
#include "ampc/driver/same_file.h"
#include "ampc/emit/depfile.h"

namespace ampc::driver {
namespace {

std::string plain(std::string_view path) { return std::filesystem::path(path).lexically_normal().string(); }

}  // namespace

void UnusedInputs::add_options(CLI::App& app) {
  auto* from = app.add_option("--declared-inputs", declared, "File that names inputs, one a line, for --unused-inputs")
                   ->type_name("FILE");
  auto* to = app.add_option("--unused-inputs", list,
                            "Write which of the declared inputs were not read, as Bazel's unused_inputs_list wants it")
                 ->type_name("FILE");
  from->needs(to);
  to->needs(from);
}

bool UnusedInputs::read(std::span<const std::string> inputs, std::span<const std::string> outputs,
                        Diagnostics& diagnostics) {
  if (list.empty()) return true;
  auto text = read_whole(declared);
  if (!text) {
    diagnostics.error(codes::kCannotRead, fmt::format("cannot read: {}", std::strerror(errno)))
        .in(declared)
        .fix("name a file that lists the inputs, one a line, with --declared-inputs");
    return false;
  }
  names = std::move(*text);
  std::vector<std::string> all(inputs.begin(), inputs.end());
  all.push_back(declared);
  return !overwrites_input(list, all, diagnostics) &&
         !overwrites_output(list, outputs, diagnostics, "list of unused inputs", "--unused-inputs");
}

std::vector<std::string> unread(std::string_view names, std::span<const std::string> read) {
  // A sandbox is made of links: files are known by what they are, and by their names only where they are gone.
  std::set<std::pair<dev_t, ino_t>> files;
  std::set<std::string> paths;
  struct stat at = {};
  for (const std::string& path : read) {
    if (::stat(path.c_str(), &at) == 0) files.emplace(at.st_dev, at.st_ino);
    paths.insert(plain(path));
  }
  std::vector<std::string> result;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('\n'), names.size());
    std::string name(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
    if (name.empty() || paths.contains(plain(name))) continue;
    if (::stat(name.c_str(), &at) == 0 && files.contains({at.st_dev, at.st_ino})) continue;
    result.push_back(std::move(name));
  }
  return result;
}

void UnusedInputs::write(std::span<const std::string> inputs) const {
  if (list.empty()) return;
  std::string text;
  for (const std::string& name : unread(names, inputs)) text += name + '\n';
  emit::write_depfile(list, text);
}

}  // namespace ampc::driver
