// The program: `ampc RULES MODEL`, and the commands beside it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace ampc::driver {

/// Runs the program with `args` (without its name). What was asked for goes to `out`, everything else to `err`.
/// The result is the exit code.
int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace ampc::driver
