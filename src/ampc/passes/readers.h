// Who reads a value: node and operand position, in the order of nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ampc/model/model.h"

namespace ampc {

struct Reader {
  NodeId node = kNone;
  std::uint32_t slot = 0;
};

class Readers {
 public:
  explicit Readers(const Model& m) : begin_(m.values.size() + 1, 0) {
    for (const ValueId v : m.operands) {
      if (v != kNone) ++begin_[v + 1];
    }
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    list_.resize(begin_.back());
    std::vector<std::uint32_t> at(begin_.begin(), begin_.end() - 1);
    for (NodeId n = 0; n < m.nodes.size(); ++n) {
      const auto operands = m.operands_of(n);
      for (std::uint32_t slot = 0; slot < operands.size(); ++slot) {
        if (operands[slot] != kNone) list_[at[operands[slot]]++] = {n, slot};
      }
    }
    outputs_.assign(m.values.size(), 0);
    for (const Block& b : m.blocks) {
      for (const ValueId v : b.outputs) outputs_[v] = 1;
    }
  }

  std::span<const Reader> of(ValueId v) const { return {list_.data() + begin_[v], list_.data() + begin_[v + 1]}; }
  /// Whether some block (its own or a nested one) gives the value out.
  bool given_out(ValueId v) const { return outputs_[v] != 0; }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<Reader> list_;
  std::vector<std::uint8_t> outputs_;
};

}  // namespace ampc
