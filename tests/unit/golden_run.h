// What runs golden cases: a folder of their own, the program, files, and whether expected texts are to be rewritten.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/driver/driver.h"

namespace ampc::golden {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline bool updating() {
  const char* value = std::getenv("AMPC_UPDATE_GOLDENS");
  return value != nullptr && std::string_view(value) == "1";
}

/// A folder of its own, current while it lives, with the shipped rules under `rules/`: messages then name no path of
/// this machine.
class Workplace {
 public:
  Workplace() : before_(std::filesystem::current_path()) {
    std::string name = (std::filesystem::temp_directory_path() / "ampc_golden_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    std::filesystem::create_directory_symlink(std::filesystem::path(AMPC_SOURCE_DIR) / "rules", folder_ / "rules");
    std::filesystem::current_path(folder_);
  }
  ~Workplace() {
    std::filesystem::current_path(before_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

 private:
  std::filesystem::path before_;
  std::filesystem::path folder_;
};

struct Run {
  int status = 0;
  std::string out;
  std::string err;
};

inline Run run(std::vector<std::string> args, const std::vector<std::string>& more = {}) {
  args.insert(args.end(), more.begin(), more.end());
  std::ostringstream out;
  std::ostringstream err;
  const int status = driver::run(args, out, err);
  return {status, out.str(), err.str()};
}

}  // namespace ampc::golden
