// A cast gives the same values before a node that only moves elements as behind it. So such a node may run in the other
// type where that leaves fewer bytes to cast, or lets two casts cancel. Nothing is read in fp32 that was not before.
//
// Which operators these are is a fact of the rules (`moves`). Only a node that its operands or its level decided is
// looked at; sizes are those that the model itself tells. Only where it is asked for: such a choice depends on the
// casts of all nodes around, so that what is compiled a second time may be found to be worth another one.
#include <algorithm>

#include "ampc/model/shapes.h"
#include "ampc/passes/access.h"
#include "ampc/passes/cut_search.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

class Mover {
 public:
  explicit Mover(const PassContext& c) : c_(c), m_(c.model) {}

  void run() {
    moves_.assign(m_.nodes.size(), 0);
    std::vector<NodeId> open;
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (!may_change(n)) continue;
      moves_[n] = 1;
      open.push_back(n);
    }
    if (open.empty()) return;
    std::vector<std::uint64_t> elements = element_counts(m_, false);
    if (std::none_of(open.begin(), open.end(), [&](NodeId n) { return worth_a_look(n, elements); })) return;
    const CutSearch search(c_, std::move(open), std::move(elements), false);
    const std::vector<Outcome> now{search.measure(c_.plan.nodes)};
    const Outcome best = search.best(now, {now[0], true, Reason::moved_low, Reason::moved_fp32});
    if (best.bytes == now[0].bytes && best.casts == now[0].casts) return;
    c_.plan.nodes = best.nodes;
    c_.plan.low_results = best.low_results;
  }

 private:
  static bool by_operands(Reason r) {
    return r == Reason::follow_none || r == Reason::readers_fp32 || r == Reason::follow_low ||
           r == Reason::follow_fp32 || r == Reason::promote_low || r == Reason::promote_fp32;
  }

  bool may_change(NodeId n) const {
    const Decision& d = c_.plan.nodes[n];
    if (d.choice != Choice::low && d.choice != Choice::fp32) return false;
    if (!c_.rules.moves(m_.nodes[n].op) || !(by_operands(d.reason) || d.reason == Reason::level_default)) return false;
    const auto operands = m_.operands_of(n);
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
      if (operands[slot] == kNone || m_.values[operands[slot]].type != ElemType::float32) continue;
      if (slot != 0 || !operand_lowers(m_, d, n, slot)) return false;
    }
    if (operands.empty() || operands[0] == kNone || m_.values[operands[0]].type != ElemType::float32) return false;
    // What a level holds in fp32 was not asked for its range: only a value that is low already may pass it in low.
    return d.choice == Choice::low || by_operands(d.reason) || made_low(operands[0]);
  }

  bool made_low(ValueId v) const {
    const NodeId p = m_.values[v].producer;
    if (p == kNone) return false;
    const Decision& d = c_.plan.nodes[p];
    if (moves_[p] != 0 && d.reason == Reason::level_default && d.choice == Choice::fp32) return true;
    return d.choice == Choice::low && has_var(d.vars, result_var(m_.op_of(p), m_.values[v].slot));
  }

  /// Whether the value is read in another type than the node's own, and how often it is read at all.
  bool read_otherwise(ValueId v, bool low, std::size_t& reads) const {
    bool other = c_.readers.given_out(v) && low;
    for (const Reader& r : c_.readers.of(v)) {
      ++reads;
      if (m_.op_of(r.node).is_cast) continue;
      const Decision& d = c_.plan.nodes[r.node];
      other |= (d.choice == Choice::low && operand_lowers(m_, d, r.node, r.slot)) != low;
    }
    return other;
  }

  /// A cast stands beside the node, and might be smaller on its other side, or be shared or cancelled there.
  bool worth_a_look(NodeId n, const std::vector<std::uint64_t>& elements) const {
    const bool low = c_.plan.nodes[n].choice == Choice::low;
    const ValueId source = m_.operands_of(n)[0];
    std::size_t reads = 0, source_reads = 0;
    bool behind = false, sizes_differ = false;
    for (const ValueId v : m_.results_of(n)) {
      if (v == kNone) continue;
      behind |= read_otherwise(v, low, reads);
      sizes_differ |= elements[v] != elements[source];
    }
    read_otherwise(source, low, source_reads);
    const NodeId p = m_.values[source].producer;
    const bool chained = p != kNone && moves_[p] != 0;
    const bool before = !chained && made_low(source) != low;
    return behind ? before || chained || sizes_differ || source_reads > 1 || m_.results_of(n).size() > 1
                  : before && sizes_differ;
  }

  const PassContext& c_;
  const Model& m_;
  std::vector<std::uint8_t> moves_;  // by NodeId
};

}  // namespace

void move_casts(const PassContext& c) {
  if (c.rules.settings().rewrite_moved.value_or(false)) Mover(c).run();
}

}  // namespace ampc::passes
