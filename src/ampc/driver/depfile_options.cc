#include "ampc/driver/depfile_options.h"

#include <cstddef>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace ampc::driver {
namespace {

struct Spelling {
  std::string_view brief, full;
  bool takes_value;
};

constexpr Spelling kSpellings[] = {{"-MMD", "--depfile-beside", false},     {"-MD", "--depfile-beside", false},
                                   {"-MP", "--depfile-phony", false},       {"-MF", "--depfile", true},
                                   {"-MT", "--depfile-target-as-is", true}, {"-MQ", "--depfile-target", true}};

}  // namespace

std::string DepfileOptions::depfile_of(const std::string& output) const {
  if (!depfile.empty() || !depfile_beside) return depfile;
  return std::filesystem::path(output).replace_extension(".d").string();
}

void add_depfile_options(CLI::App& app, DepfileOptions& o, std::string_view first, std::string_view example) {
  app.add_option("--depfile", o.depfile, "Write the files that were read, as make and Ninja read them; -MF FILE")
      ->type_name("FILE");
  app.add_flag("--depfile-beside", o.depfile_beside,
               fmt::format("The same into a file beside the output: {}; -MD or -MMD", example));
  app.add_flag(
      "--depfile-phony", o.depfile_style.phony,
      fmt::format("A rule without recipe in it for each file but {}, so that make goes on without one; -MP", first));
  app.add_option_function<std::vector<std::string>>(
         "--depfile-target",
         [&o](const std::vector<std::string>& names) {
           for (const std::string& name : names) o.depfile_style.targets.push_back(emit::escape_depfile_name(name));
         },
         "Target in place of the output, to be escaped; may be repeated; -MQ NAME")
      ->type_name("NAME")
      ->trigger_on_parse()
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "--depfile-target-as-is",
         [&o](const std::vector<std::string>& names) {
           o.depfile_style.targets.insert(o.depfile_style.targets.end(), names.begin(), names.end());
         },
         "The same, as it shall stand there; -MT NAME")
      ->type_name("NAME")
      ->trigger_on_parse()
      ->allow_extra_args(false);
}

Arguments with_long_depfile_names(const Arguments& args) {
  Arguments result;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      result.insert(result.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
      break;
    }
    const Spelling* found = nullptr;
    for (const Spelling& s : kSpellings) {
      if (args[i] == s.brief || (s.takes_value && args[i].starts_with(s.brief))) found = &s;
    }
    if (found == nullptr) {
      result.push_back(args[i]);
    } else if (args[i].size() > found->brief.size()) {
      result.push_back(std::string(found->full) + "=" + args[i].substr(found->brief.size()));
    } else if (found->takes_value && i + 1 < args.size()) {
      result.push_back(std::string(found->full) + "=" + args[++i]);  // a name may begin with a dash
    } else {
      result.emplace_back(found->full);
    }
  }
  return result;
}

std::string wrong_depfile_options(const DepfileOptions& o) {
  if (!o.depfile.empty() || o.depfile_beside || (o.depfile_style.targets.empty() && !o.depfile_style.phony)) return {};
  return "-MT, -MQ and -MP say what a depfile holds: ask for one with --depfile FILE (-MF FILE) or -MD";
}

}  // namespace ampc::driver
