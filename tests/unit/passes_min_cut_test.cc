#include "ampc/passes/min_cut.h"

#include <bit>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace ampc::passes {
namespace {

struct Edge {
  MinCut::Vertex tail, head;
  MinCut::Cost cost;
  bool implied;
};

/// The cut that solve() promises, by looking at every one: of the least cost, and then of the fewest vertices.
std::vector<std::uint8_t> by_force(MinCut::Vertex vertices, const std::vector<Edge>& edges) {
  std::vector<std::uint8_t> best;
  MinCut::Cost least{};
  int fewest = 0;
  for (std::uint32_t free = 0; free < (1U << (vertices - 2)); ++free) {
    std::vector<std::uint8_t> side(vertices, 0);
    side[MinCut::kSource] = 1;
    for (MinCut::Vertex v = 2; v < vertices; ++v) side[v] = (free >> (v - 2)) & 1U;
    MinCut::Cost cost{};
    bool possible = true;
    for (const Edge& e : edges) {
      if (side[e.tail] == 0 || side[e.head] != 0) continue;
      possible &= !e.implied;
      for (std::size_t i = 0; i < cost.size(); ++i) cost[i] += e.cost[i];
    }
    const int count = std::popcount(free);
    if (!possible || (!best.empty() && std::tie(cost, count) >= std::tie(least, fewest))) continue;
    best = side;
    least = cost;
    fewest = count;
  }
  return best;
}

TEST(MinCut, IsTheLeastOfAllCuts) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::size_t solved = 0;
  for (int round = 0; round < 3000; ++round) {
    MinCut cut;
    const MinCut::Vertex vertices = 2 + below(9);
    for (MinCut::Vertex v = 2; v < vertices; ++v) EXPECT_EQ(cut.add(), v);
    std::vector<Edge> edges;
    for (std::uint32_t i = below(3 * vertices); i-- > 0;) {
      Edge e{below(vertices), below(vertices), {below(4), below(3), below(3)}, below(6) == 0};
      if (e.tail == e.head || e.head == MinCut::kSource || e.tail == MinCut::kSink) continue;
      if (e.implied) e.cost = {};
      e.implied ? cut.implies(e.tail, e.head) : cut.edge(e.tail, e.head, e.cost);
      edges.push_back(e);
    }
    const auto want = by_force(vertices, edges);
    if (want.empty()) continue;  // what is implied is impossible
    ++solved;
    EXPECT_EQ(cut.solve(), want) << "round " << round;
  }
  EXPECT_GT(solved, 2000U);
}

TEST(MinCut, AnEdgeOutweighsAnyNumberInTheNextPart) {
  MinCut cut;
  const MinCut::Vertex a = cut.add();
  cut.edge(MinCut::kSource, a, {1, 0, 0});
  for (int i = 0; i < 1000; ++i) cut.edge(a, MinCut::kSink, {0, 1'000'000'000, 0});
  EXPECT_EQ(cut.solve()[a], 1);
}

TEST(MinCut, WithNothingToPayEverythingIsOnTheSinksSide) {
  MinCut cut;
  const MinCut::Vertex a = cut.add();
  EXPECT_EQ(cut.solve()[a], 0);
}

}  // namespace
}  // namespace ampc::passes
