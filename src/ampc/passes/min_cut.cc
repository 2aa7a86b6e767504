// Each part of the cost is a maximum flow of its own. The cuts that are least by the parts so far are those that no arc
// with capacity left crosses; so such arcs are forbidden to the next part, and the others cost what it says of them.
#include "ampc/passes/min_cut.h"

#include <numeric>
#include <utility>

#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>

namespace ampc::passes {
namespace {

using Arc = std::uint32_t;
using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                 boost::no_property, MinCut::Vertex, Arc>;
using GraphArc = boost::graph_traits<Graph>::edge_descriptor;

}  // namespace

std::vector<std::uint8_t> MinCut::solve() const {
  // Arcs in the order of their tails: each edge, and its reverse. `arc_of` tells where they went.
  const std::size_t count = edges_.size() * 2;
  std::vector<Arc> begin(vertices_ + 1, 0);
  for (const Edge& e : edges_) ++begin[e.tail + 1], ++begin[e.head + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Arc> next(begin.begin(), begin.end() - 1), arc_of(count);
  std::vector<std::pair<Vertex, Vertex>> ends(count);
  std::vector<GraphArc> reverse(count);
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& e = edges_[i];
    const Arc forth = next[e.tail]++, back = next[e.head]++;
    ends[forth] = {e.tail, e.head};
    ends[back] = {e.head, e.tail};
    reverse[forth] = GraphArc(e.head, back);
    reverse[back] = GraphArc(e.tail, forth);
    arc_of[i * 2] = forth;
    arc_of[i * 2 + 1] = back;
  }
  const Graph graph(boost::edges_are_sorted, ends.begin(), ends.end(), vertices_);

  std::vector<std::int64_t> capacity(count), left(count, 0);
  std::vector<GraphArc> predecessor(vertices_);
  std::vector<boost::default_color_type> colour(vertices_);
  std::vector<std::int64_t> distance(vertices_);
  const auto by_arc = boost::get(boost::edge_index, graph);
  const auto by_vertex = boost::get(boost::vertex_index, graph);
  for (std::size_t part = 0; part < kParts; ++part) {
    std::int64_t all = 1;
    for (const Edge& e : edges_) all += e.cost[part];
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      const Arc forth = arc_of[i * 2], back = arc_of[i * 2 + 1];
      capacity[forth] = edges_[i].forbidden || left[forth] > 0 ? all : edges_[i].cost[part];
      capacity[back] = left[back] > 0 ? all : 0;
    }
    boost::boykov_kolmogorov_max_flow(graph, boost::make_iterator_property_map(capacity.begin(), by_arc),
                                      boost::make_iterator_property_map(left.begin(), by_arc),
                                      boost::make_iterator_property_map(reverse.begin(), by_arc),
                                      boost::make_iterator_property_map(predecessor.begin(), by_vertex),
                                      boost::make_iterator_property_map(colour.begin(), by_vertex),
                                      boost::make_iterator_property_map(distance.begin(), by_vertex), by_vertex,
                                      Vertex{kSource}, Vertex{kSink});
  }

  std::vector<std::uint8_t> side(vertices_, 0);
  std::vector<Vertex> work{kSource};
  side[kSource] = 1;
  while (!work.empty()) {
    const Vertex v = work.back();
    work.pop_back();
    for (Arc a = begin[v]; a < begin[v + 1]; ++a) {
      if (left[a] <= 0 || side[ends[a].second] != 0) continue;
      side[ends[a].second] = 1;
      work.push_back(ends[a].second);
    }
  }
  return side;
}

}  // namespace ampc::passes
