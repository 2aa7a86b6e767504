// The wire format of a model, with the weights' bytes taken out and put back.
//
// `cut` copies a model's message and leaves every large payload where it lies in the mapped file: what protobuf then
// parses is a skeleton of some kilobytes, whatever the weights weigh. In the skeleton a payload is a marker in
// raw_data. `lay_out` is the way back: the serialised skeleton becomes a list of pieces with the payloads' final sizes
// in every enclosing length, so that the file's size and the place of each weight in it are known before a byte is
// written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ampc::wire {

/// The bytes are no protobuf message; `offset` says where that shows.
class Malformed : public std::runtime_error {
 public:
  Malformed(const std::string& what, std::size_t at) : std::runtime_error(what), offset(at) {}
  std::size_t offset;
};

/// Payloads of this many bytes and more are taken out.
inline constexpr std::size_t kCutThreshold = 1024;

using Bytes = std::span<const std::byte>;

/// The skeleton of the ModelProto in `file`. Appends to `payloads`; marker i stands for payloads[i].
/// `passed(offset)`, if given, is told where in the file each of them begins. Throws Malformed.
std::string cut(Bytes file, std::vector<Bytes>& payloads, const std::function<void(std::size_t)>& passed = {});

/// The raw_data that stands for payload `index`.
std::string marker(std::uint64_t index);
/// The index in a marker; nothing where `raw` is no marker.
std::optional<std::uint64_t> marker_index(std::string_view raw);

/// A run of the output file.
struct Piece {
  enum class Kind : std::uint8_t { skeleton, lengths, payload };
  Kind kind = Kind::skeleton;
  std::uint64_t begin = 0;   // skeleton, lengths: offset there; payload: its index
  std::uint64_t size = 0;    // bytes
  std::uint64_t offset = 0;  // in the output file
};

struct Layout {
  std::string lengths;  // rewritten tags and lengths that Piece::Kind::lengths points into
  std::vector<Piece> pieces;
  std::uint64_t size = 0;
};

/// `size_of(index)` gives a payload's final size in bytes.
Layout lay_out(std::string_view skeleton, const std::function<std::uint64_t(std::uint64_t)>& size_of);

}  // namespace ampc::wire
