#include "ampc/model/topology.h"

#include <functional>
#include <queue>

#include "onnx/onnx_pb.h"

namespace ampc::topology {
namespace {

/// Calls `f` with every value that the node or one of its bodies reads.
void for_each_read(const Model& m, NodeId n, const std::function<void(ValueId)>& f) {
  for (const ValueId v : m.operands_of(n)) {
    if (v != kNone) f(v);
  }
  for (const BlockId b : m.bodies_of(n)) {
    for (NodeId inner = m.blocks[b].first; inner < m.blocks[b].last; ++inner) for_each_read(m, inner, f);
    for (const ValueId v : m.blocks[b].outputs) f(v);
  }
}

}  // namespace

Order order_of(const Model& m, BlockId b) {
  const Block& block = m.blocks[b];
  const std::size_t count = block.last - block.first;
  std::vector<std::vector<NodeId>> readers(count);
  std::vector<std::vector<NodeId>> producers(count);
  std::vector<std::size_t> missing(count, 0);
  for (NodeId n = block.first; n < block.last; ++n) {
    for_each_read(m, n, [&](ValueId v) {
      const NodeId p = m.values[v].producer;
      if (m.values[v].block != b || p == kNone) return;
      readers[p - block.first].push_back(n);
      producers[n - block.first].push_back(p);
      ++missing[n - block.first];
    });
  }
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId n = block.first; n < block.last; ++n) {
    if (missing[n - block.first] == 0) ready.push(n);
  }
  Order order;
  while (!ready.empty()) {
    const NodeId n = ready.top();
    ready.pop();
    order.nodes.push_back(n);
    for (const NodeId r : readers[n - block.first]) {
      if (--missing[r - block.first] == 0) ready.push(r);
    }
  }
  if (order.nodes.size() == count) return order;
  // Every node that is left waits for one that is left: following those ends in a cycle.
  NodeId n = block.first;
  while (missing[n - block.first] == 0) ++n;
  std::vector<std::size_t> seen(count, 0);
  std::vector<NodeId> path;
  while (seen[n - block.first] == 0) {
    path.push_back(n);
    seen[n - block.first] = path.size();
    for (const NodeId p : producers[n - block.first]) {
      if (missing[p - block.first] != 0) {
        n = p;
        break;
      }
    }
  }
  order.cycle.assign(path.rbegin(), path.rend() - static_cast<std::ptrdiff_t>(seen[n - block.first] - 1));
  return order;
}

void reorder(Model& m, BlockId b, const std::vector<NodeId>& order) {
  auto* list = m.blocks[b].graph->mutable_node();
  std::vector<onnx::NodeProto*> messages(static_cast<std::size_t>(list->size()));
  list->UnsafeArenaExtractSubrange(0, list->size(), messages.data());
  for (const NodeId n : order) list->UnsafeArenaAddAllocated(messages[n - m.blocks[b].first]);
}

}  // namespace ampc::topology
