#include "ampc/emit/content_hash.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>
#include <xxhash.h>

namespace ampc::emit {

std::string content_hash(std::span<const std::byte> bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::vector<XXH128_canonical_t> chunks((bytes.size() + kChunk - 1) / kChunk);
  tbb::parallel_for(std::size_t{0}, chunks.size(), [&](std::size_t i) {
    const auto chunk = bytes.subspan(i * kChunk, std::min(kChunk, bytes.size() - i * kChunk));
    XXH128_canonicalFromHash(&chunks[i], XXH3_128bits(chunk.data(), chunk.size()));
  });
  const XXH128_hash_t whole = XXH3_128bits_withSeed(chunks.data(), chunks.size() * sizeof chunks[0], bytes.size());
  return fmt::format("{:016x}{:016x}", whole.high64, whole.low64);
}

void PieceHashes::set(std::size_t index, std::span<const std::byte> bytes) {
  XXH128_canonical_t hash;
  static_assert(sizeof hash == kBytes);
  XXH128_canonicalFromHash(&hash, XXH3_128bits(bytes.data(), bytes.size()));
  std::memcpy(pieces_.data() + index * kBytes, &hash, kBytes);
}

std::string PieceHashes::whole() const {
  const XXH128_hash_t hash = XXH3_128bits(pieces_.data(), pieces_.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace ampc::emit
