// A vertex on the source's side is low, one on the sink's side fp32. A cast is made once per value and type, whoever
// reads it, so where several nodes read a value a vertex of its own stands for "some reader wants it in this type". All
// casts are counted as place_casts would place them, but for casts of the model's own that could serve.
#include "ampc/passes/cut_network.h"

#include <algorithm>
#include <unordered_map>

#include "ampc/passes/access.h"
#include "ampc/passes/interface.h"

namespace ampc::passes {
namespace {

constexpr MinCut::Vertex kLow = MinCut::kSource, kFp32 = MinCut::kSink;

/// A value's maker or reader: always low, always fp32, or low where the vertex is.
struct End {
  MinCut::Vertex vertex = kFp32;
  ElemType low = ElemType::float16;  // of which low type; nothing where `vertex` is kFp32
};

}  // namespace

class CutNetwork::Builder {
 public:
  Builder(CutNetwork& net, const PassContext& c, const std::vector<std::uint64_t>& elements, bool exact)
      : net_(net), c_(c), m_(c.model), elements_(elements), exact_(exact), interface_(c) {}

  void run(const std::vector<NodeId>& open) {
    vertex_of_.assign(m_.nodes.size(), kNone);
    for (const NodeId n : open) {
      vertex_of_[n] = net_.vertices_++;
      net_.nodes_.push_back(vertex_of_[n]);
      net_.wish_.push_back(c_.plan.nodes[n].choice == Choice::low ? 1 : 0);
    }
    for (NodeId n = static_cast<NodeId>(m_.nodes.size()); n-- > 0;) {  // inner results before outer ones
      if (!m_.bodies_of(n).empty()) join(n);
    }
    outputs();
    for (ValueId v = 0; v < m_.values.size(); ++v) {
      if (m_.values[v].tensor && m_.values[v].type == ElemType::float32) value(v);
    }
  }

 private:
  bool is_open(NodeId n) const { return vertex_of_[n] != kNone; }

  /// R19: a result of an If is low where every branch makes it low.
  void join(NodeId n) {
    const auto bodies = m_.bodies_of(n);
    const auto results = m_.results_of(n);
    const ElemType low = c_.rules.options(n).dtype;
    if (std::any_of(bodies.begin(), bodies.end(), [&](BlockId b) { return m_.blocks[b].repeats; })) return;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNone || m_.values[results[i]].type != ElemType::float32) continue;
      if (const Op& op = m_.op_of(n); !op.is_call) {
        const Signature* s = op.signature;
        if (s == nullptr || s->is_declared() || s->output(i) == nullptr || !s->output(i)->elems.contains(low)) continue;
      }
      const bool possible = std::all_of(bodies.begin(), bodies.end(), [&](BlockId b) {
        if (i >= m_.blocks[b].outputs.size() || is_weight(m_.values[m_.blocks[b].outputs[i]])) return false;
        if (m_.values[m_.blocks[b].outputs[i]].block != b) return false;
        const End made = maker(m_.blocks[b].outputs[i]);
        return made.vertex != kFp32 && made.low == low;
      });
      if (!possible) continue;
      const bool open = std::any_of(bodies.begin(), bodies.end(),
                                    [&](BlockId b) { return maker(m_.blocks[b].outputs[i]).vertex != kLow; });
      const MinCut::Vertex joined = open ? net_.vertices_++ : kLow;
      joined_.emplace(results[i], End{joined, low});
      for (const BlockId b : bodies) imply(joined, maker(m_.blocks[b].outputs[i]).vertex);
    }
  }

  End maker(ValueId v) const {
    const Value& value = m_.values[v];
    if (value.producer == kNone) {
      const ElemType t = value.block == 0 ? interface_.type_of(v) : value.type;
      return is_low(t) ? End{kLow, t} : End{};
    }
    const NodeId n = value.producer;
    const Decision& d = c_.plan.nodes[n];
    if (!m_.bodies_of(n).empty()) {
      const auto joined = joined_.find(v);
      return joined == joined_.end() ? End{} : joined->second;
    }
    if (m_.op_of(n).is_cast) {  // one that widens is read past by who wants the narrow value
      const ValueId u = m_.operands_of(n)[0];
      if (u != kNone && is_low(m_.values[u].type)) return {kLow, m_.values[u].type};
      const bool read_past = c_.rules.settings().rewrite_redundant.value_or(true) && changes_nothing(m_, c_.plan, n);
      return read_past ? maker(u) : End{};
    }
    if (!is_open(n) && d.choice != Choice::low) return {};
    if (!has_var(d.vars, result_var(m_.op_of(n), value.slot))) return {};
    return {is_open(n) ? vertex_of_[n] : kLow, d.low};
  }

  /// What the outputs of blocks are given out as, by value.
  void outputs() {
    for (BlockId b = 0; b < m_.blocks.size(); ++b) {
      const NodeId owner = m_.blocks[b].owner;
      for (std::size_t i = 0; i < m_.blocks[b].outputs.size(); ++i) {
        const ValueId v = m_.blocks[b].outputs[i];
        End end;
        if (b == 0) {
          const ElemType t = interface_.type_of(v);
          if (is_low(t)) end = {kLow, t};
        } else if (i < m_.results_of(owner).size() && m_.results_of(owner)[i] != kNone) {
          end = maker(m_.results_of(owner)[i]);  // that of a loop is fp32
        }
        given_out_.emplace(v, end);
      }
    }
  }

  /// Who reads the value, and whether some of them are open.
  bool readers(ValueId v, const End& made, bool whole, std::vector<End>& list) const {
    const bool as_read = lowered_offline(v);
    bool open = false;
    for (const Reader& r : c_.readers.of(v)) {
      const Op& op = m_.op_of(r.node);
      const Decision& d = c_.plan.nodes[r.node];
      if (op.is_cast) {
        const ElemType to = m_.values[m_.results_of(r.node)[0]].type;
        if (!as_read && is_low(to)) {
          list.push_back({kLow, to});
        } else if (as_read || whole) {
          list.push_back({});
        }
      } else if (takes_as_it_comes(op, r.slot)) {
        const bool must = made.vertex != kFp32 && !op.signature->input(r.slot)->elems.contains(made.low);
        if (must || whole) list.push_back({});
      } else if (!operand_lowers(m_, d, r.node, r.slot)) {
        list.push_back({});
      } else if (is_open(r.node)) {
        open = true;
        list.push_back({vertex_of_[r.node], d.low});
      } else {
        list.push_back(d.choice == Choice::low ? End{kLow, d.low} : End{});
      }
    }
    const auto [first, last] = given_out_.equal_range(v);
    for (auto at = first; at != last; ++at) {
      list.push_back(at->second);
      open |= at->second.vertex > kFp32;
    }
    return open;
  }

  void value(ValueId v) {
    std::vector<End> list;
    const End made = maker(v);
    const bool whole = exact_ && made.vertex > kFp32 && !made_of_low(v);
    const bool open = readers(v, made, whole, list) || made.vertex > kFp32;
    if (list.empty() || !open) return;
    for (const End& e : list) {
      if (whole) imply(made.vertex, e.low == made.low ? e.vertex : kFp32);
    }
    const std::int64_t bytes = cast_bytes(elements_[v]);
    if (const ElemType low = one_low(list); lowered_offline(v) && low != ElemType::undefined) {
      if (!has_copy(v)) pay(some_low(list, low), some_fp32(list), bytes);
      return;
    }
    for (const ElemType low : {ElemType::float16, ElemType::bfloat16}) {
      std::vector<End> same;
      std::copy_if(list.begin(), list.end(), std::back_inserter(same),
                   [&](const End& e) { return e.vertex != kFp32 && e.low == low; });
      if (same.empty()) continue;
      // fp16 and bf16 meet through fp32, whether the value is made low or not (R32).
      pay(some_low(same, low), made.vertex != kFp32 && made.low == low ? made.vertex : kFp32, bytes);
    }
    if (made.vertex == kFp32) return;
    const bool other =
        std::any_of(list.begin(), list.end(), [&](const End& e) { return e.vertex != kFp32 && e.low != made.low; });
    pay(made.vertex, other ? kFp32 : some_fp32(list), bytes);
  }

  /// What moved its elements here took them from a low value.
  bool made_of_low(ValueId v) const {
    while (m_.values[v].producer != kNone && is_open(m_.values[v].producer)) {
      v = m_.operands_of(m_.values[v].producer)[0];
    }
    return maker(v).vertex == kLow;
  }

  /// A weight, or a creator, that is low without a cast where all of its readers are (R20, R24).
  bool lowered_offline(ValueId v) const {
    const Value& value = m_.values[v];
    if (value.producer != kNone && !m_.op_of(value.producer).is_constant) {
      if (!c_.rules.settings().rewrite_creators.value_or(true)) return false;
      const Reason reason = c_.plan.nodes[value.producer].reason;
      return reason == Reason::attribute_type || reason == Reason::creator_low;
    }
    if (value.weight == nullptr || value.graph_input || given_out_.contains(v) || c_.plan.kept[v] != 0) return false;
    const auto policy = c_.rules.rules().levels[c_.rules.model_options().level].weights;
    return policy != lang::Level::Weights::keep && !stored_fp32(c_, v);
  }
  bool has_copy(ValueId v) const {
    return m_.values[v].kind == ValueKind::initializer &&
           c_.rules.settings().shared.value_or(lang::Shared::fp32) == lang::Shared::both;
  }

  /// The low type of all readers that are or may be low; undefined where there are two.
  static ElemType one_low(const std::vector<End>& list) {
    ElemType low = ElemType::undefined;
    for (const End& e : list) {
      if (e.vertex == kFp32) continue;
      if (low != ElemType::undefined && low != e.low) return ElemType::undefined;
      low = e.low;
    }
    return low;
  }

  // ---- vertices and terms ----------------------------------------------------------------------------------------

  /// A vertex that is low where some reader of this low type is.
  MinCut::Vertex some_low(const std::vector<End>& list, ElemType low) {
    return joint(list, low, kLow, [&](MinCut::Vertex reader, MinCut::Vertex all) { imply(reader, all); });
  }
  /// A vertex that is fp32 where some reader is.
  MinCut::Vertex some_fp32(const std::vector<End>& list) {
    return joint(list, ElemType::undefined, kFp32,
                 [&](MinCut::Vertex reader, MinCut::Vertex all) { imply(all, reader); });
  }

  template <typename Tie>
  MinCut::Vertex joint(const std::vector<End>& list, ElemType low, MinCut::Vertex decides, const Tie& tie) {
    std::vector<MinCut::Vertex> open;
    for (const End& e : list) {
      if (e.vertex == decides && (decides == kFp32 || e.low == low)) return decides;
      if (e.vertex > kFp32) open.push_back(e.vertex);
    }
    std::sort(open.begin(), open.end());
    open.erase(std::unique(open.begin(), open.end()), open.end());
    if (open.empty()) return decides == kLow ? kFp32 : kLow;
    if (open.size() == 1) return open[0];
    const MinCut::Vertex all = net_.vertices_++;
    for (const MinCut::Vertex reader : open) tie(reader, all);
    return all;
  }

  void pay(MinCut::Vertex low, MinCut::Vertex fp32, std::int64_t bytes) {
    const bool settled = low == kFp32 || fp32 == kLow || low == fp32 || (low == kLow && fp32 == kFp32);
    if (!settled) net_.terms_.push_back({low, fp32, bytes});
  }
  void imply(MinCut::Vertex low, MinCut::Vertex also) { pay(low, also, 0); }

  CutNetwork& net_;
  const PassContext& c_;
  const Model& m_;
  const std::vector<std::uint64_t>& elements_;
  bool exact_;
  Interface interface_;
  std::vector<MinCut::Vertex> vertex_of_;    // by NodeId
  std::unordered_map<ValueId, End> joined_;  // results of Ifs
  std::unordered_multimap<ValueId, End> given_out_;
};

CutNetwork::CutNetwork(const PassContext& c, const std::vector<NodeId>& open,
                       const std::vector<std::uint64_t>& elements, bool exact) {
  Builder(*this, c, elements, exact).run(open);
}

std::vector<Choice> CutNetwork::solve(std::int64_t penalty) const {
  MinCut cut;
  for (MinCut::Vertex v = 2; v < vertices_; ++v) cut.add();
  for (const Term& t : terms_) {
    if (t.bytes == 0) {
      cut.implies(t.low, t.fp32);
    } else {
      cut.edge(t.low, t.fp32, {t.bytes + penalty, 1, 0});
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    wish_[i] != 0 ? cut.edge(kLow, nodes_[i], {0, 0, 1}) : cut.edge(nodes_[i], kFp32, {0, 0, 1});
  }
  const std::vector<std::uint8_t> low = cut.solve();
  std::vector<Choice> choices;
  choices.reserve(nodes_.size());
  for (const MinCut::Vertex v : nodes_) choices.push_back(low[v] != 0 ? Choice::low : Choice::fp32);
  return choices;
}

}  // namespace ampc::passes
