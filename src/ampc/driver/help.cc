// `ampc help`, and what manual pages and shells need of it.
#include <ostream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/suggest.h"
#include "ampc/driver/command.h"
#include "ampc/driver/describe.h"

namespace ampc::driver {

int help_command(const Arguments& args, const Streams& streams) {
  std::vector<std::string> names;
  bool man = false;
  std::string shell;
  CLI::App app("Tells the options of a command, or writes the manual page and what shells complete by.", "ampc help");
  app.add_option("COMMAND", names, "Command; without one, ampc RULES MODEL")->expected(0, 1);
  auto* page = app.add_flag("--man", man, "Print the manual page ampc.1, all commands in it");
  app.add_option("--completions", shell, "Print completions for a shell: bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL")
      ->excludes(page);
  app.footer("Both are installed with the program. Example: source <(ampc help --completions bash)");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  if (man) {
    streams.out << man_page(describe_all());
    return kOk;
  }
  if (!shell.empty()) {
    const std::vector<CommandText> all = describe_all();
    streams.out << (shell == "bash"  ? bash_completion(all)
                    : shell == "zsh" ? zsh_completion(all)
                                     : fish_completion(all));
    return kOk;
  }
  if (names.empty()) return compile_command({"--help"}, streams);
  const std::string& name = names.front();
  if (const Command* c = find_command(name)) return c->run({"--help"}, streams);
  std::vector<std::string_view> known;
  for (const Command& c : commands()) known.push_back(c.name);
  std::string text = fmt::format("no command is called '{}'", name);
  if (const std::string near = did_you_mean(name, known); !near.empty()) text += "; " + near;
  return wrong_usage({}, fmt::format("{}\ncommands are {}", text, list_of(known, false, "and")), streams.err);
}

}  // namespace ampc::driver
