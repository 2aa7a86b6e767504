#include <algorithm>
#include <exception>
#include <iostream>
#include <new>

#include <fmt/format.h>

#include "ampc/driver/build.h"
#include "ampc/driver/command.h"
#include "ampc/driver/driver.h"

namespace ampc::driver {
namespace {

constexpr Command kCommands[] = {
    {"build", "Compile many models as a manifest says, what has changed alone", build_command},
    {"cast", "Cast one shard of a plan", cast_command},
    {"check", "Check rule files by themselves, and against models", check_command},
    {"diff", "Tell what changes between two sets of rules", diff_command},
    {"doc", "Write what rule files say of themselves as Markdown", doc_command},
    {"explain", "Tell why something is what it is, or what a diagnostic means", explain_command},
    {"fmt", "Lay out rule files", fmt_command},
    {"help", "Tell the options of a command", help_command},
    {"link", "Make the output of a plan and its shards", link_command},
    {"lsp", "Serve an editor: diagnostics, completion, definitions", lsp_command},
    {"plan", "Decide all, and leave the weights to ampc cast and ampc link", plan_command},
    {"test", "Hold what rules decide against what is expected of them", test_command},
};

int dispatch(const Arguments& args, const Streams& streams) {
  // By the name alone: a rule file that is called like a command is named with its folder, `./check`.
  if (const Command* c = args.empty() ? nullptr : find_command(args.front())) {
    return c->run(Arguments(args.begin() + 1, args.end()), streams);
  }
  return compile_command(args, streams);
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  const auto at =
      std::find_if(std::begin(kCommands), std::end(kCommands), [&](const Command& c) { return c.name == name; });
  return at == std::end(kCommands) ? nullptr : at;
}

std::string commands_text() {
  std::string text;
  for (const Command& c : kCommands) text += fmt::format("  ampc {:<22} {}\n", c.name, c.summary);
  return text;
}

int run(const Arguments& args, std::ostream& out, std::ostream& err) {
  try {
    return dispatch(args, {std::cin, out, err});
  } catch (const std::bad_alloc&) {
    err << "ampc: out of memory\n";
  } catch (const std::exception& e) {
    err << "ampc: internal error: " << e.what() << "\nplease report this with the rule file and the model\n";
  }
  return kInternal;
}

}  // namespace ampc::driver
