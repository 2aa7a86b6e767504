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

bool overwrites_output(const std::string& path, std::span<const std::string> outputs, Diagnostics& diagnostics,
                       std::string_view what, std::string_view option) {
  for (const std::string& output : outputs) {
    if (!same_file(path, output)) continue;
    diagnostics.error(codes::kSameFile, fmt::format("the {} is the output '{}'", what, output))
        .in(path)
        .fix(fmt::format("give another name with {}", option));
    return true;
  }
  return false;
}

}  // namespace ampc::driver
