#include "ampc/model/storage.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace ampc {

void Model::Storage::sort_files() {
  by_address_ = {&file};
  for (const MappedFile& f : external) by_address_.push_back(&f);
  std::sort(by_address_.begin(), by_address_.end(),
            [](const auto* a, const auto* b) { return a->bytes().data() < b->bytes().data(); });
}

const MappedFile* Model::Storage::file_of(wire::Bytes part) const {
  const auto after = std::upper_bound(by_address_.begin(), by_address_.end(), part.data(),
                                      [](const std::byte* at, const auto* f) { return at < f->bytes().data(); });
  if (after == by_address_.begin()) return nullptr;
  const MappedFile* found = *std::prev(after);
  const wire::Bytes all = found->bytes();
  return part.data() + part.size() <= all.data() + all.size() ? found : nullptr;
}

void Model::Storage::copy(wire::Bytes part, std::byte* into) const {
  if (const MappedFile* found = file_of(part)) {
    auto at = static_cast<off_t>(part.data() - found->bytes().data());
    while (!part.empty()) {
      const ssize_t got = ::pread(found->fd(), into, part.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;  // the mapping tells why
      at += got;
      into += got;
      part = part.subspan(static_cast<std::size_t>(got));
    }
  }
  std::memcpy(into, part.data(), part.size());
}

}  // namespace ampc
