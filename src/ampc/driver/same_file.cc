#include "ampc/driver/same_file.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "ampc/diag/model_codes.h"

namespace ampc::driver {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error) && !error) return true;
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

bool overwrites_input(const std::string& output, std::span<const std::string> inputs, Diagnostics& diagnostics) {
  for (const std::string& input : inputs) {
    if (!same_file(output, input)) continue;
    diagnostics.error(codes::kSameFile, fmt::format("the output is the input '{}'", input))
        .in(output)
        .fix("give another name");
    return true;
  }
  return false;
}

bool overwrites_output(const std::string& depfile, std::span<const std::string> outputs, Diagnostics& diagnostics) {
  for (const std::string& path : outputs) {
    if (!same_file(depfile, path)) continue;
    diagnostics.error(codes::kSameFile, fmt::format("the depfile is the output '{}'", path))
        .in(depfile)
        .fix("give another name with --depfile");
    return true;
  }
  return false;
}

}  // namespace ampc::driver
