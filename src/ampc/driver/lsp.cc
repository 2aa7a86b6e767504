// `ampc lsp`: a language server over standard input and output.
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "ampc/driver/command.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/targets.h"
#include "ampc/lsp/server.h"

namespace ampc::driver {

int lsp_command(const Arguments& args, const Streams& streams) {
  PlanOptions o;
  bool stdio = false;
  CLI::App app("A language server for rule files: the Language Server Protocol over standard input and output.",
               "ampc lsp");
  app.add_flag("--stdio", stdio, "Over standard input and output, as it is in any case");
  add_import_options(app, o);
  app.footer(
      "Started by an editor; grammar/vscode has an extension for Visual Studio Code.\n"
      "Ends with 0 where the editor said `shutdown` before it left, else with 1.");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  std::vector<std::string> folders = o.import_dirs;
  folders.push_back(installed_rules());
  auto targets = target_files(o.targets, folders, streams.err);
  if (!targets) return kUsage;
  lang::CompileOptions options;
  options.import_dirs = o.import_dirs;
  options.installed_rules = installed_rules();
  options.more_rules = std::move(*targets);
  return lsp::serve(streams.in, streams.out, options, AMPC_VERSION) ? kOk : kWrongInput;
}

}  // namespace ampc::driver
