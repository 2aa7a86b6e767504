// Topological order of a block's nodes.
#pragma once

#include <vector>

#include "ampc/model/model.h"

namespace ampc::topology {

struct Order {
  std::vector<NodeId> nodes;  // in order; where it can choose, as they stood
  std::vector<NodeId> cycle;  // nodes that need one another, when there is no order
};

/// Operands count, and values that a node's bodies capture.
Order order_of(const Model& m, BlockId b);
/// Puts the messages of the block's nodes in that order; the model's arrays no longer fit then.
void reorder(Model& m, BlockId b, const std::vector<NodeId>& order);

}  // namespace ampc::topology
