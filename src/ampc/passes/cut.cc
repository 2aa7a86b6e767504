// R16: all open nodes at once, for the fewest bytes through casts.
//
// The nodes are decided as `follow` and as `promote` would, then by minimum cuts; of what needs no more casts than
// both, what casts the fewest bytes is taken. Where both leave the model in fp32, so does the cut (R22).
#include <algorithm>

#include "ampc/model/shapes.h"
#include "ampc/passes/cut_search.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

/// Each open node by its own operands.
std::vector<Decision> local(const PassContext& c, const std::vector<NodeId>& open, bool promote) {
  std::vector<Decision> nodes = c.plan.nodes;
  for (const NodeId n : open) {
    Decision& d = nodes[n];
    d.promote = promote;
    if (promote || d.rule.valid()) continue;
    const lang::Level& level = c.rules.level(n);  // an operator that no list names
    d.choice = level.default_low ? Choice::low : Choice::fp32;
    d.reason = Reason::level_default;
    d.rule = level.span;
  }
  return nodes;
}

bool lowers(const Outcome& o) {
  return std::any_of(o.nodes.begin(), o.nodes.end(), [](const Decision& d) { return d.choice == Choice::low; });
}

}  // namespace

void cut(const PassContext& c) {
  std::vector<NodeId> open;
  for (NodeId n = 0; n < c.model.nodes.size(); ++n) {
    if (c.plan.nodes[n].choice == Choice::open && c.plan.nodes[n].cut) open.push_back(n);
  }
  if (open.empty()) return;
  const CutSearch search(c, std::move(open), element_counts(c.model, true), true);
  const std::vector<Outcome> known{search.measure(local(c, search.open(), false)),
                                   search.measure(local(c, search.open(), true))};
  const Outcome& wish = known[c.plan.nodes[search.open().front()].promote ? 1 : 0];
  const Outcome best = std::any_of(known.begin(), known.end(), lowers)
                           ? search.best(known, {wish, false, Reason::cut_low, Reason::cut_fp32})
                           : wish;
  for (const NodeId n : search.open()) c.plan.nodes[n] = best.nodes[n];
}

}  // namespace ampc::passes
