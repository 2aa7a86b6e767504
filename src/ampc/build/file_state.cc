#include "ampc/build/file_state.h"

#include <sys/stat.h>
#include <time.h>

#include <system_error>

#include "ampc/emit/content_hash.h"
#include "ampc/model/mapped_file.h"

namespace ampc::build {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& t) { return static_cast<std::int64_t>(t.tv_sec) * kSecond + t.tv_nsec; }

std::optional<FileState> look_at(const std::string& path) {
  const std::int64_t now = file_clock();
  struct stat s = {};
  if (stat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  FileState state;
  state.path = path;
  state.size = static_cast<std::uint64_t>(s.st_size);
  state.inode = s.st_ino;
  state.modified = nanoseconds(s.st_mtim);
  state.changed = nanoseconds(s.st_ctim);
  state.settled = state.modified < now && state.changed < now;
  return state;
}

bool look_the_same(const FileState& a, const FileState& b) {
  return a.size == b.size && a.inode == b.inode && a.modified == b.modified && a.changed == b.changed;
}

}  // namespace

std::int64_t file_clock() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return nanoseconds(now);
}

Files::Entry& Files::look(const std::string& path) {
  const auto [at, fresh] = entries_.try_emplace(path);
  if (fresh) at->second.look = look_at(path);
  return at->second;
}

std::optional<FileState> Files::state(const std::string& path) {
  FileState seen;
  {
    const std::lock_guard lock(mutex_);
    const Entry& e = look(path);
    if (!e.look || e.hashed) return e.look;
    seen = *e.look;
  }
  try {
    const MappedFile file(path);
    seen.hash = emit::content_hash(file.bytes());
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  const auto after = look_at(path);
  if (!after || !look_the_same(seen, *after)) seen.settled = false;  // it is being written to
  const std::lock_guard lock(mutex_);
  entries_[path] = {seen, true};
  return seen;
}

bool Files::same(const FileState& before, std::optional<FileState>& now) {
  {
    const std::lock_guard lock(mutex_);
    const Entry& e = look(before.path);
    if (!e.look) return false;
    if (before.settled && look_the_same(before, *e.look)) return true;
    if (before.size != e.look->size) return false;
  }
  now = state(before.path);
  return now && now->hash == before.hash;
}

bool Files::exists(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return look(path).look.has_value();
}

std::optional<FileState> Files::anew(const std::string& path, std::int64_t start) {
  auto now = look_at(path);
  if (!now || now->changed >= start) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    Entry& e = entries_[path];
    if (!e.look || !look_the_same(*e.look, *now) || (e.hashed && !e.look->settled)) e = {now, false};
  }
  return state(path);
}

}  // namespace ampc::build
