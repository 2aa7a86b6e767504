#include "ampc/driver/command_line.h"

#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/driver/describe.h"

namespace ampc::driver {

std::optional<int> parse(CLI::App& app, const Arguments& args, std::ostream& out, std::ostream& err) {
  if (args.size() == 1 && args.front() == kDescribe) {
    out << describe(app);
    return kOk;
  }
  try {
    app.parse(Arguments(args.rbegin(), args.rend()));
  } catch (const CLI::CallForVersion& e) {
    out << e.what() << '\n';
    return kOk;
  } catch (const CLI::Success&) {
    out << app.help();
    return kOk;
  } catch (const CLI::ParseError& e) {
    const std::string& name = app.get_name();
    const std::size_t space = name.find(' ');
    return wrong_usage(space == std::string::npos ? "" : name.substr(space + 1), e.what(), err);
  }
  return std::nullopt;
}

int wrong_usage(std::string_view command, std::string_view text, std::ostream& err) {
  const std::string name = command.empty() ? "ampc" : fmt::format("ampc {}", command);
  err << fmt::format("{}: {}\n{} --help shows the options\n", name, text, name);
  return kUsage;
}

}  // namespace ampc::driver
