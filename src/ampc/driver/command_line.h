// What the commands have in common: exit codes, and how a command line is read.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace ampc::driver {

/// Exit codes.
inline constexpr int kOk = 0, kWrongInput = 1, kUsage = 2, kInternal = 3;

using Arguments = std::vector<std::string>;

/// Reads `args` into what `app` binds. An exit code where the run is over: help, version or the error is written then.
std::optional<int> parse(CLI::App& app, const Arguments& args, std::ostream& out, std::ostream& err);

/// Tells what is wrong with a command line and where help is. `command` is empty for `ampc RULES MODEL`. Gives kUsage.
int wrong_usage(std::string_view command, std::string_view text, std::ostream& err);

}  // namespace ampc::driver
