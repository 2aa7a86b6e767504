// What bytes are told apart by: 128 bits of xxHash.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ampc::emit {

/// 32 hexadecimal digits: XXH3 over the XXH3 of each MiB, so that the threads share the work. The same for any number
/// of them. No cryptographic hash: it knows faults, not forgeries.
std::string content_hash(std::span<const std::byte> bytes);

/// The same idea for bytes that come in pieces, each hashed by whatever thread has it.
class PieceHashes {
 public:
  explicit PieceHashes(std::size_t count) : pieces_(count * kBytes) {}
  /// Safe from several threads at once, each with other pieces.
  void set(std::size_t index, std::span<const std::byte> bytes);
  /// 32 hexadecimal digits that tell the pieces, their order and their number.
  std::string whole() const;

 private:
  static constexpr std::size_t kBytes = 16;
  std::vector<std::byte> pieces_;
};

}  // namespace ampc::emit
