#include "ampc/diag/whole_file.h"

#include <array>
#include <cstdio>
#include <memory>

namespace ampc {

// Not by a stream: one on a folder opens, and throws when it is read.
std::optional<std::string> read_whole(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 1 << 14> chunk;
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), file.get())) text.append(chunk.data(), n);
  if (std::ferror(file.get()) != 0) return std::nullopt;
  return text;
}

}  // namespace ampc
