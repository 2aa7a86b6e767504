#include "ampc/emit/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "ampc/emit/content_hash.h"
#include "ampc/emit/temporary_file.h"

namespace ampc::emit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersion = "v1";  // of the trailer, and of what a name promises of the bytes

struct Trailer {
  std::uint64_t size = 0;
  char hash[32] = {};       // content_hash() of the bytes
  std::uint64_t check = 0;  // of the fields above and of the name
};
static_assert(std::is_trivially_copyable_v<Trailer> && sizeof(Trailer) == 48);

std::uint64_t check_of(const Trailer& t, const std::string& name) {
  return XXH3_64bits_withSeed(&t, offsetof(Trailer, check), XXH3_64bits(name.data(), name.size()));
}

Trailer trailer_of(std::span<const std::byte> bytes, const std::string& name) {
  Trailer t;
  t.size = bytes.size();
  std::memcpy(t.hash, content_hash(bytes).data(), sizeof t.hash);
  t.check = check_of(t, name);
  return t;
}

/// The entry's bytes; nothing where it is not what was written under that name.
std::optional<std::span<const std::byte>> verified(std::span<const std::byte> file, const std::string& name) {
  Trailer t;
  if (file.size() < sizeof t) return std::nullopt;
  const auto bytes = file.first(file.size() - sizeof t);
  std::memcpy(&t, bytes.data() + bytes.size(), sizeof t);
  if (t.size != bytes.size() || t.check != check_of(t, name)) return std::nullopt;
  return std::memcmp(t.hash, content_hash(bytes).data(), sizeof t.hash) == 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace

CacheFolder::CacheFolder(const std::string& path, std::uint64_t limit)
    : folder_((fs::path(path) / kVersion).string()), limit_(limit) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw IoError(path, error.value(), "cannot make the folder");
}

std::optional<CacheFolder::Entry> CacheFolder::find(const std::string& name) {
  const std::string path = path_of(name);
  MappedFile file;
  try {
    file = MappedFile(path);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  if (const auto bytes = verified(file.bytes(), name)) {
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // where it may not, the entry goes earlier
    return Entry{std::move(file), *bytes};
  }
  ++damaged_;
  std::error_code ignored;
  fs::remove(path, ignored);
  return std::nullopt;
}

void CacheFolder::put(const std::string& name, std::uint64_t size, const std::function<void(OutputFile&)>& write) {
  OutputFile file(path_of(name));
  file.set_size(size);
  write(file);
  Trailer trailer;
  {
    const MappedFile written(file.temporary());
    trailer = trailer_of(written.bytes(), name);
  }
  file.write_at(size, std::as_bytes(std::span(&trailer, 1)));
  file.commit();
}

void CacheFolder::trim() const {
  temporary::sweep_folder(folder_);
  struct Old {
    std::string path;
    std::uint64_t size;
    timespec used;
  };
  std::vector<Old> entries;
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    struct stat info = {};
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with('.') || lstat(path.c_str(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    entries.push_back({path, static_cast<std::uint64_t>(info.st_size), info.st_mtim});
    total += entries.back().size;
  }
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Old& a, const Old& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Old& old : entries) {
    if (total <= limit_) break;
    fs::remove(old.path, ignored);  // another run may have done so
    total -= old.size;
  }
}

}  // namespace ampc::emit
