#include "ampc/model/wire.h"

#include <array>
#include <cstring>

namespace ampc::wire {
namespace {

// The messages of onnx.proto on the way from a model to its weights.
enum class Message : std::uint8_t { opaque, model, graph, node, attribute, tensor, sparse, training, function };

Message nested(Message in, std::uint32_t field) {
  switch (in) {
    case Message::model:
      return field == 7    ? Message::graph
             : field == 20 ? Message::training
             : field == 25 ? Message::function
                           : Message::opaque;
    case Message::training:
      return field == 1 || field == 2 ? Message::graph : Message::opaque;
    case Message::function:
      return field == 7 ? Message::node : field == 11 ? Message::attribute : Message::opaque;
    case Message::graph:
      return field == 1    ? Message::node
             : field == 5  ? Message::tensor
             : field == 15 ? Message::sparse
                           : Message::opaque;
    case Message::node:
      return field == 5 ? Message::attribute : Message::opaque;
    case Message::attribute:
      return field == 5 || field == 10    ? Message::tensor
             : field == 6 || field == 11  ? Message::graph
             : field == 22 || field == 23 ? Message::sparse
                                          : Message::opaque;
    case Message::sparse:
      return field == 1 || field == 2 ? Message::tensor : Message::opaque;
    default:
      return Message::opaque;
  }
}

constexpr std::uint32_t kRawData = 9;
constexpr std::uint32_t kLengthDelimited = 2;
constexpr std::string_view kMagic =
    "\x93"
    "ampc\x0d\x1e\x07";
constexpr std::size_t kMarkerSize = 16;
constexpr int kDeepest = 1000;  // the parser's own limit

class Cursor {
 public:
  Cursor(const std::byte* begin, const std::byte* end, const std::byte* base) : at_(begin), end_(end), base_(base) {}
  bool done() const { return at_ == end_; }
  const std::byte* at() const { return at_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) fail("ends in the middle of a number");
      const auto b = std::to_integer<std::uint64_t>(*at_++);
      value |= (b & 0x7fU) << shift;
      if ((b & 0x80U) == 0) return value;
    }
    fail("holds a number of more than ten bytes");
  }

  const std::byte* take(std::uint64_t n) {
    if (n > static_cast<std::uint64_t>(end_ - at_)) fail("ends before what it announces");
    const std::byte* p = at_;
    at_ += n;
    return p;
  }

  /// Passes over the value of a field; length-delimited ones are the caller's.
  void skip(std::uint32_t wire_type) {
    switch (wire_type) {
      case 0:
        varint();
        return;
      case 1:
        take(8);
        return;
      case 5:
        take(4);
        return;
      default:
        fail("holds a field of no known kind");
    }
  }

  [[noreturn]] void fail(const char* what) const { throw Malformed(what, static_cast<std::size_t>(at_ - base_)); }

 private:
  const std::byte* at_;
  const std::byte* end_;
  const std::byte* base_;
};

void put_varint(std::string& out, std::uint64_t v) {
  while (v >= 0x80) {
    out.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out.push_back(static_cast<char>(v));
}

std::size_t varint_size(std::uint64_t v) {
  std::size_t n = 1;
  for (; v >= 0x80; v >>= 7) ++n;
  return n;
}

void append(std::string& out, const std::byte* begin, const std::byte* end) {
  out.append(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin));
}

/// Copies a message without its large payloads.
class Cutter {
 public:
  Cutter(Bytes file, std::vector<Bytes>& payloads, const std::function<void(std::size_t)>& passed)
      : file_(file), payloads_(payloads), passed_(passed) {}

  std::string run() {
    message(Message::model, file_.data(), file_.data() + file_.size());
    return std::move(out_);
  }

 private:
  void message(Message kind, const std::byte* begin, const std::byte* end, int depth = 0) {
    Cursor c(begin, end, file_.data());
    if (depth > kDeepest) c.fail("nests its messages too deep");
    const std::byte* copied = begin;
    while (!c.done()) {
      const std::byte* field_begin = c.at();
      const std::uint64_t tag = c.varint();
      const auto field = static_cast<std::uint32_t>(tag >> 3);
      const auto type = static_cast<std::uint32_t>(tag & 7);
      if (field == 0) c.fail("holds a field of number 0");
      if (type != kLengthDelimited) {
        c.skip(type);
        continue;
      }
      const std::uint64_t size = c.varint();
      const std::byte* body = c.take(size);
      if (size < kCutThreshold) continue;
      const bool payload = kind == Message::tensor && field == kRawData;
      const Message inner = nested(kind, field);
      if (!payload && inner == Message::opaque) continue;
      append(out_, copied, field_begin);
      put_varint(out_, tag);
      if (payload) {
        put_varint(out_, kMarkerSize);
        out_ += marker(payloads_.size());
        payloads_.push_back({body, size});
        if (passed_) passed_(static_cast<std::size_t>(body - file_.data()));
      } else {
        // The length is known once the body is there: five bytes hold any, and a parser takes a padded one.
        const std::size_t length_at = out_.size();
        out_.append(5, '\0');
        message(inner, body, body + size, depth + 1);
        const std::uint64_t length = out_.size() - length_at - 5;
        if (length > 0x7fffffffU) c.fail("holds more than 2 GiB beside its weights");
        for (unsigned i = 0; i < 5; ++i) {
          const auto b = static_cast<unsigned>((length >> (7 * i)) & 0x7fU);
          out_[length_at + i] = static_cast<char>(i < 4 ? b | 0x80U : b);
        }
      }
      copied = body + size;
    }
    append(out_, copied, end);
  }

  Bytes file_;
  std::vector<Bytes>& payloads_;
  const std::function<void(std::size_t)>& passed_;
  std::string out_;
};

/// Finds the markers of a serialised skeleton and the final lengths of everything around them.
class Layouter {
 public:
  Layouter(std::string_view skeleton, const std::function<std::uint64_t(std::uint64_t)>& size_of)
      : text_(skeleton), size_of_(size_of) {
    for (std::size_t at = text_.find(kMagic); at != std::string_view::npos; at = text_.find(kMagic, at + kMarkerSize)) {
      marks_.push_back(at);
    }
  }

  Layout run() {
    const auto* begin = reinterpret_cast<const std::byte*>(text_.data());
    next_mark_ = 0;
    layout_.size = measure(Message::model, begin, begin + text_.size());
    next_mark_ = 0;
    next_size_ = 0;
    emit(Message::model, begin, begin + text_.size());
    flush(text_.size());
    return std::move(layout_);
  }

 private:
  // Runs over a message's fields and calls `enter(tag, kind, body, size)` or `payload(tag, index, body)` for those that
  // hold a marker.
  template <typename Enter, typename Payload>
  void walk(Message kind, const std::byte* begin, const std::byte* end, const Enter& enter, const Payload& payload) {
    const auto* base = reinterpret_cast<const std::byte*>(text_.data());
    Cursor c(begin, end, base);
    while (!c.done()) {
      if (next_mark_ == marks_.size() || base + marks_[next_mark_] >= end) return;
      const std::byte* field_begin = c.at();
      const std::uint64_t tag = c.varint();
      const auto type = static_cast<std::uint32_t>(tag & 7);
      if (type != kLengthDelimited) {
        c.skip(type);
        continue;
      }
      const std::uint64_t size = c.varint();
      const std::byte* body = c.take(size);
      const auto field = static_cast<std::uint32_t>(tag >> 3);
      if (kind == Message::tensor && field == kRawData) {
        const auto index = marker_index({reinterpret_cast<const char*>(body), size});
        if (index && body == base + marks_[next_mark_]) {
          ++next_mark_;
          payload(field_begin, tag, *index, body);
        }
      } else if (const Message inner = nested(kind, field);
                 inner != Message::opaque && base + marks_[next_mark_] < body + size) {
        enter(field_begin, tag, inner, body, size);
      }
      // Bytes that look like a marker and are none (a string of the model's) are passed over.
      while (next_mark_ < marks_.size() && base + marks_[next_mark_] < body + size) ++next_mark_;
    }
  }

  std::uint64_t measure(Message kind, const std::byte* begin, const std::byte* end) {
    const std::size_t slot = sizes_.size();
    sizes_.push_back(0);
    auto total = static_cast<std::uint64_t>(end - begin);
    walk(
        kind, begin, end,
        [&](const std::byte* field, std::uint64_t tag, Message inner, const std::byte* body, std::uint64_t size) {
          const std::uint64_t now = measure(inner, body, body + size);
          total += varint_size(tag) + varint_size(now) + now;
          total -= static_cast<std::uint64_t>(body - field) + size;
        },
        [&](const std::byte* field, std::uint64_t tag, std::uint64_t index, const std::byte* body) {
          const std::uint64_t now = size_of_(index);
          total += varint_size(tag) + varint_size(now) + now;
          total -= static_cast<std::uint64_t>(body - field) + kMarkerSize;
        });
    sizes_[slot] = total;
    return total;
  }

  void emit(Message kind, const std::byte* begin, const std::byte* end) {
    ++next_size_;
    const auto* base = reinterpret_cast<const std::byte*>(text_.data());
    walk(
        kind, begin, end,
        [&](const std::byte* field, std::uint64_t tag, Message inner, const std::byte* body, std::uint64_t size) {
          header(static_cast<std::size_t>(field - base), static_cast<std::size_t>(body - base), tag,
                 sizes_[next_size_]);
          emit(inner, body, body + size);
        },
        [&](const std::byte* field, std::uint64_t tag, std::uint64_t index, const std::byte* body) {
          const std::uint64_t size = size_of_(index);
          header(static_cast<std::size_t>(field - base), static_cast<std::size_t>(body - base), tag, size);
          add({Piece::Kind::payload, index, size, 0});
          copied_ += kMarkerSize;
        });
  }

  /// Everything before `field` as it is, then a new tag and length in place of the old ones before `body`.
  void header(std::size_t field, std::size_t body, std::uint64_t tag, std::uint64_t length) {
    flush(field);
    const std::size_t begin = layout_.lengths.size();
    put_varint(layout_.lengths, tag);
    put_varint(layout_.lengths, length);
    add({Piece::Kind::lengths, begin, layout_.lengths.size() - begin, 0});
    copied_ = body;
  }

  void flush(std::size_t until) {
    if (until > copied_) add({Piece::Kind::skeleton, copied_, until - copied_, 0});
    copied_ = until;
  }

  void add(Piece piece) {
    piece.offset = written_;
    written_ += piece.size;
    layout_.pieces.push_back(piece);
  }

  std::string_view text_;
  const std::function<std::uint64_t(std::uint64_t)>& size_of_;
  std::vector<std::size_t> marks_;
  std::size_t next_mark_ = 0;
  std::vector<std::uint64_t> sizes_;  // of the messages that `measure` entered, in its order
  std::size_t next_size_ = 0;
  std::size_t copied_ = 0;
  std::uint64_t written_ = 0;
  Layout layout_;
};

}  // namespace

std::string cut(Bytes file, std::vector<Bytes>& payloads, const std::function<void(std::size_t)>& passed) {
  return Cutter(file, payloads, passed).run();
}

std::string marker(std::uint64_t index) {
  std::string m(kMagic);
  m.resize(kMarkerSize);
  std::memcpy(m.data() + kMagic.size(), &index, sizeof index);
  return m;
}

std::optional<std::uint64_t> marker_index(std::string_view raw) {
  if (raw.size() != kMarkerSize || !raw.starts_with(kMagic)) return std::nullopt;
  std::uint64_t index = 0;
  std::memcpy(&index, raw.data() + kMagic.size(), sizeof index);
  return index;
}

Layout lay_out(std::string_view skeleton, const std::function<std::uint64_t(std::uint64_t)>& size_of) {
  return Layouter(skeleton, size_of).run();
}

}  // namespace ampc::wire
