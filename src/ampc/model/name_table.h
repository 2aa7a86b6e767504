// Names of one block's values: string to index, open addressing, keys not owned.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <xxhash.h>

namespace ampc {

class NameTable {
 public:
  static constexpr std::uint32_t kAbsent = 0xffffffffU;

  void reserve(std::size_t count) {
    std::size_t n = 16;
    while (n < count * 2) n *= 2;
    if (n > slots_.size()) rehash(n);
  }

  std::uint32_t find(std::string_view name) const {
    if (slots_.empty()) return kAbsent;
    for (std::size_t i = hash(name) & mask(); slots_[i].value != kAbsent; i = (i + 1) & mask()) {
      if (slots_[i].name == name) return slots_[i].value;
    }
    return kAbsent;
  }

  /// Adds `name`, or gives the value that it has already.
  std::uint32_t insert(std::string_view name, std::uint32_t value) {
    if (slots_.empty() || count_ * 2 >= slots_.size()) rehash(slots_.empty() ? 16 : slots_.size() * 2);
    std::size_t i = hash(name) & mask();
    for (; slots_[i].value != kAbsent; i = (i + 1) & mask()) {
      if (slots_[i].name == name) return slots_[i].value;
    }
    slots_[i] = {name, value};
    ++count_;
    return value;
  }

 private:
  struct Slot {
    std::string_view name;
    std::uint32_t value = kAbsent;
  };

  static std::size_t hash(std::string_view s) { return XXH3_64bits(s.data(), s.size()); }
  std::size_t mask() const { return slots_.size() - 1; }

  void rehash(std::size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& s : old) {
      if (s.value == kAbsent) continue;
      std::size_t i = hash(s.name) & mask();
      while (slots_[i].value != kAbsent) i = (i + 1) & mask();
      slots_[i] = s;
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace ampc
