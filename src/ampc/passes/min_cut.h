// Minimum cuts whose cost has several parts, the first above the second and so on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ampc::passes {

/// Vertices are to be parted in two sides. An edge costs what it says where its tail is on the source's side and its
/// head is not.
class MinCut {
 public:
  using Vertex = std::uint32_t;
  static constexpr std::size_t kParts = 3;
  using Cost = std::array<std::int64_t, kParts>;
  static constexpr Vertex kSource = 0, kSink = 1;

  Vertex add() { return vertices_++; }
  void edge(Vertex tail, Vertex head, const Cost& cost) { edges_.push_back({tail, head, cost, false}); }
  /// The head is on the source's side wherever the tail is.
  void implies(Vertex tail, Vertex head) { edges_.push_back({tail, head, {}, true}); }

  /// By vertex, whether it is on the source's side: of all cuts of the least cost the one with the fewest vertices
  /// there, which is unique. What is implied must be possible.
  std::vector<std::uint8_t> solve() const;

 private:
  struct Edge {
    Vertex tail, head;
    Cost cost;
    bool forbidden;
  };
  Vertex vertices_ = 2;
  std::vector<Edge> edges_;
};

}  // namespace ampc::passes
