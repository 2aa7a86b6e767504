// R16 as a minimum cut: what every assignment of the open nodes costs in casts.
#pragma once

#include <cstdint>
#include <vector>

#include "ampc/passes/min_cut.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {

/// Bytes that a cast of so many elements reads and writes, from fp32 to a low type or back.
inline std::int64_t cast_bytes(std::uint64_t elements) { return static_cast<std::int64_t>(elements) * 6; }

class CutNetwork {
 public:
  /// `c.plan` is a plan that is decided throughout; its decisions hold for all nodes but `open`, and are what those
  /// should be where nothing speaks against it. `exact`: the open nodes only move elements, and nothing may be read in
  /// fp32 that was rounded before.
  CutNetwork(const PassContext& c, const std::vector<NodeId>& open, const std::vector<std::uint64_t>& elements,
             bool exact);

  /// The choices of the open nodes, in their order, that cost least: bytes cast, with `penalty` more for each cast;
  /// then casts; then the fewest nodes that differ from the plan.
  std::vector<Choice> solve(std::int64_t penalty) const;

 private:
  class Builder;
  struct Term {
    MinCut::Vertex low, fp32;  // paid where `low` is low and `fp32` is not
    std::int64_t bytes;        // 0: never to be so
  };
  MinCut::Vertex vertices_ = 2;
  std::vector<Term> terms_;
  std::vector<MinCut::Vertex> nodes_;  // of the open nodes
  std::vector<std::uint8_t> wish_;     // … whether the plan has them low
};

}  // namespace ampc::passes
