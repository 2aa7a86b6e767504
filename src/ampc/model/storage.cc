#include "ampc/model/storage.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "ampc/model/read_at.h"

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
  std::size_t done = 0;
  if (const MappedFile* found = file_of(part)) {
    done = read_at(found->fd(), static_cast<std::uint64_t>(part.data() - found->bytes().data()), {into, part.size()});
  }
  // What is missing, its mapping tells the reason of.
  if (done < part.size()) std::memcpy(into + done, part.data() + done, part.size() - done);
}

}  // namespace ampc
