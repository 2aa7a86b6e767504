#include "ampc/driver/same_file.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "ampc/diag/model_codes.h"

namespace ampc::driver {

namespace fs = std::filesystem;

bool overwrites_input(const std::string& output, std::span<const std::string> inputs, Diagnostics& diagnostics) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!fs::equivalent(output, input, error) || error) continue;
    diagnostics.error(codes::kSameFile, fmt::format("the output is the input '{}'", input))
        .in(output)
        .fix("give another name");
    return true;
  }
  return false;
}

bool overwrites_output(const std::string& depfile, std::span<const std::string> outputs, Diagnostics& diagnostics) {
  for (const std::string& path : outputs) {
    std::error_code ignored;
    if (fs::weakly_canonical(depfile, ignored) != fs::weakly_canonical(path, ignored)) continue;
    diagnostics.error(codes::kSameFile, fmt::format("the depfile is the output '{}'", path))
        .in(depfile)
        .fix("give another name with --depfile");
    return true;
  }
  return false;
}

}  // namespace ampc::driver
