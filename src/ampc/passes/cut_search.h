// Assignments of open nodes, carried through to their casts and compared.
#pragma once

#include <cstdint>
#include <vector>

#include "ampc/passes/passes.h"

namespace ampc::passes {

/// Decisions of all nodes, and what they lead to.
struct Outcome {
  std::vector<Decision> nodes;
  std::vector<std::uint8_t> low_results;
  std::int64_t bytes = 0;  // that casts read and write, the model's own among them
  std::size_t casts = 0;
};

class CutSearch {
 public:
  CutSearch(const PassContext& c, std::vector<NodeId> open, std::vector<std::uint64_t> elements)
      : c_(c), m_(c.model), open_(std::move(open)), elements_(std::move(elements)) {}

  const std::vector<NodeId>& open() const { return open_; }

  /// What these decisions lead to; nodes that are open in them are settled.
  Outcome measure(std::vector<Decision> nodes) const;

  /// How a minimum cut is asked for.
  struct Ask {
    const Outcome& wish;  // of equal assignments the nearest to it
    bool exact;           // the open nodes only move elements (CutNetwork)
    Reason low, fp32;     // of the nodes that it changes
  };
  /// Of the known outcomes and those of cuts, all with no more casts than any that is known, the one with the fewest
  /// bytes cast.
  Outcome best(const std::vector<Outcome>& known, const Ask& ask) const;

 private:
  std::vector<Decision> with(const std::vector<Choice>& choices, const Ask& ask) const;

  const PassContext& c_;
  const Model& m_;
  std::vector<NodeId> open_;
  std::vector<std::uint64_t> elements_;
};

}  // namespace ampc::passes
