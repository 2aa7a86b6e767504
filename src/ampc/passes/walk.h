// A walk over all nodes in the order in which they run, with what flows into bodies and out of them.
#pragma once

#include <algorithm>

#include "ampc/model/model.h"
#include "ampc/model/special_ops.h"

namespace ampc {

/// Calls `node(n)` for every node without bodies, operands before their readers. At a node with bodies, `flow(from,
/// to)` is called from its operands to the bodies' formal inputs, then the bodies are walked, then `flow` is called
/// from the bodies' outputs to its results, and `leave(n)` at last.
template <typename OnNode, typename OnFlow, typename OnLeave>
void walk_forward(const Model& m, BlockId block, const OnNode& node, const OnFlow& flow, const OnLeave& leave) {
  for (NodeId n = m.blocks[block].first; n < m.blocks[block].last; ++n) {
    const auto bodies = m.bodies_of(n);
    if (bodies.empty()) {
      node(n);
      continue;
    }
    const auto operands = m.operands_of(n);
    const auto results = m.results_of(n);
    const std::size_t skip = special::leading_body_outputs(m.op_of(n).domain, m.op_of(n).name);
    for (const BlockId body : bodies) {
      const auto& inputs = m.blocks[body].inputs;
      for (std::size_t i = 0; i < std::min(inputs.size(), operands.size()); ++i) {
        if (operands[i] != kNone) flow(operands[i], inputs[i]);
      }
      walk_forward(m, body, node, flow, leave);
      const auto& outputs = m.blocks[body].outputs;
      for (std::size_t i = 0; i < results.size() && i + skip < outputs.size(); ++i) {
        if (results[i] != kNone) flow(outputs[i + skip], results[i]);
      }
    }
    leave(n);
  }
}

template <typename OnNode, typename OnFlow>
void walk_forward(const Model& m, BlockId block, const OnNode& node, const OnFlow& flow) {
  walk_forward(m, block, node, flow, [](NodeId) {});
}

}  // namespace ampc
