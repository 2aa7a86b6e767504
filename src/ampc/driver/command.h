// The commands beside `ampc RULES MODEL`. Each is a file of its own, with its options.
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

#include "ampc/driver/command_line.h"

namespace ampc::driver {

/// Where a command reads and writes.
struct Streams {
  std::istream& in;
  std::ostream& out;  // what was asked for
  std::ostream& err;  // everything else
};

struct Command {
  std::string_view name;
  std::string_view summary;  // a line of `ampc --help`
  /// Gets what stands behind the name; gives the exit code. May throw: the caller turns that into kInternal.
  int (*run)(const Arguments& args, const Streams& streams);
};

/// All of them, in the order of their names.
std::span<const Command> commands();
/// nullptr where none is called so.
const Command* find_command(std::string_view name);
/// Their names and summaries, a line each, for `ampc --help`.
std::string commands_text();

int cast_command(const Arguments& args, const Streams& streams);
int check_command(const Arguments& args, const Streams& streams);
int diff_command(const Arguments& args, const Streams& streams);
int doc_command(const Arguments& args, const Streams& streams);
int explain_command(const Arguments& args, const Streams& streams);
int fmt_command(const Arguments& args, const Streams& streams);
int help_command(const Arguments& args, const Streams& streams);
int link_command(const Arguments& args, const Streams& streams);
int lsp_command(const Arguments& args, const Streams& streams);
int plan_command(const Arguments& args, const Streams& streams);
int test_command(const Arguments& args, const Streams& streams);

/// `ampc RULES MODEL`
int compile_command(const Arguments& args, const Streams& streams);

}  // namespace ampc::driver
