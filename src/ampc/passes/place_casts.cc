// R18, R19, R21, R22: a cast for every value that is read in another type than its home, once per dominating block.
//
// Operands are first resolved through the model's own casts: one that has become a no-op, or that only widened what a
// reader now wants narrow, is read past, and goes when nothing reads it any more. What is left becomes casts in the
// lowest block that encloses all readers, lifted out of bodies that may run many times.
#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/passes/access.h"
#include "ampc/passes/interface.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

constexpr std::size_t kVersions = 3;

std::size_t version_of(ElemType t) { return t == ElemType::float32 ? 0 : t == ElemType::float16 ? 1 : 2; }
bool castable(ElemType t) { return t == ElemType::float32 || is_low(t); }

struct Use {
  NodeId node = kNone;  // kNone: an output of the block
  BlockId block = 0;
};

struct Record {
  ValueId value = kNone;
  ElemType from = ElemType::float32, to = ElemType::float32;
  std::vector<Use> uses;
};

class Placer {
 public:
  explicit Placer(const PassContext& c) : c_(c), m_(c.model), plan_(c.plan), interface_(c) {}

  void run() {
    plan_.operand_casts.assign(m_.operands.size(), kNone);
    plan_.operand_values = m_.operands;
    plan_.removed.assign(m_.nodes.size(), 0);
    required_.assign(m_.values.size(), ElemType::undefined);
    record_of_.assign(m_.values.size(), {kNone, kNone, kNone});
    redundant_ = plan_.any_low && c_.rules.settings().rewrite_redundant.value_or(true);
    require_outputs();
    for (NodeId n = 0; n < m_.nodes.size(); ++n) operands(n);
    outputs();
    remove_unread_casts();
    gather_own_casts();
    for (std::uint32_t i = 0; i < records_.size(); ++i) place(i);
    name();
    count();
  }

 private:
  // ---- what is needed --------------------------------------------------------------------------------------------

  /// A value that the model gives out in another type than its home: the cast takes its name (R22). What a body gives
  /// out is known by its position, so there the cast's own name will do.
  void require_outputs() {
    for (std::size_t i = 0; i < m_.blocks[0].outputs.size(); ++i) {
      const ValueId v = m_.blocks[0].outputs[i];
      const ElemType t = interface_.output_type(0, i);
      if (castable(t) && m_.values[v].tensor && t != plan_.home[v]) required_[v] = t;
    }
  }

  bool makes(NodeId n, ElemType t) const {
    const auto results = m_.results_of(n);
    return !results.empty() && results[0] != kNone && m_.values[results[0]].type == t;
  }

  /// The value to read instead of `v` when `want` is the type wanted: past casts of the model's own that changed
  /// nothing but the width, or that have nothing left to change. A cast of the model's own does not read past one that
  /// is given out in its type: there would be two casts of one value to one type.
  ValueId resolve(ValueId v, ElemType want, NodeId reader) const {
    const bool casts = m_.op_of(reader).is_cast;
    for (;;) {
      if (casts && c_.readers.given_out(v) && makes(reader, m_.values[v].type)) return v;
      const NodeId p = m_.values[v].producer;
      if (p == kNone || !m_.op_of(p).is_cast || m_.operands_of(p).empty() || m_.operands_of(p)[0] == kNone) return v;
      const ValueId u = m_.operands_of(p)[0];
      if (redundant_ && plan_.home[u] == m_.values[v].type && changes_nothing(m_, plan_, p)) {
        v = u;
        continue;
      }
      if (!m_.values[u].tensor || !castable(plan_.home[u]) || !castable(m_.values[v].type)) return v;
      const bool no_op_now = plan_.home[u] == m_.values[v].type && plan_.home[u] != m_.values[u].type;
      const bool back_again = plan_.home[u] == want && m_.values[v].type == ElemType::float32;
      const bool named_elsewhere = required_[u] == m_.values[v].type;
      if (!no_op_now && !back_again && !named_elsewhere) return v;
      if (back_again && !is_low(want) && plan_.home[u] == m_.values[u].type)
        return v;  // fp32 to fp32 as the model had it
      v = u;
    }
  }

  void operands(NodeId n) {
    const auto list = m_.operands_of(n);
    for (std::uint32_t slot = 0; slot < list.size(); ++slot) {
      if (list[slot] == kNone || !m_.values[list[slot]].tensor) continue;
      const Access a = operand_access(m_, plan_, n, slot);
      const std::uint32_t at = m_.nodes[n].operand_begin + slot;
      ElemType want = a.any ? plan_.home[list[slot]] : a.type;
      // A cast of the model's own to what the value is given out as reads that: the same cast twice would say no more.
      if (m_.op_of(n).is_cast && castable(required_[list[slot]]) && makes(n, required_[list[slot]]))
        want = required_[list[slot]];
      const ValueId v = resolve(list[slot], want, n);
      plan_.operand_values[at] = v;
      if (castable(want) && castable(plan_.home[v]) && plan_.home[v] != want) {
        plan_.operand_casts[at] = need(v, want, {n, m_.nodes[n].block});
      }
    }
  }

  void outputs() {
    for (BlockId b = 0; b < m_.blocks.size(); ++b) {
      for (std::uint32_t i = 0; i < m_.blocks[b].outputs.size(); ++i) {
        const ValueId v = m_.blocks[b].outputs[i];
        const ElemType t = interface_.output_type(b, i);
        if (!m_.values[v].tensor || !castable(t) || plan_.home[v] == t) continue;
        const std::uint32_t cast = need(v, t, {kNone, b});
        if (b != 0) plan_.outputs.push_back({b, i, cast});
      }
    }
  }

  std::uint32_t need(ValueId v, ElemType to, Use use) {
    ElemType from = plan_.home[v];
    if (is_low(from) && is_low(to)) {  // fp16 and bf16 meet through fp32 (R32)
      need(v, ElemType::float32, use);
      from = ElemType::float32;
    }
    std::uint32_t& record = record_of_[v][version_of(to)];
    if (record == kNone) {
      record = static_cast<std::uint32_t>(records_.size());
      records_.push_back({v, from, to, {}});
    }
    records_[record].uses.push_back(use);
    return record;
  }

  // ---- the model's own casts -------------------------------------------------------------------------------------

  void remove_unread_casts() {
    std::vector<std::uint32_t> reads(m_.values.size(), 0);
    for (const ValueId v : plan_.operand_values) {
      if (v != kNone) ++reads[v];
    }
    for (NodeId n = static_cast<NodeId>(m_.nodes.size()); n-- > 0;) {
      if (!m_.op_of(n).is_cast || m_.results_of(n).empty()) continue;
      const ValueId v = m_.results_of(n)[0];
      if (v == kNone || reads[v] != 0 || c_.readers.given_out(v) || c_.readers.of(v).empty()) continue;
      plan_.removed[n] = 1;
      const ValueId u = plan_.operand_values[m_.nodes[n].operand_begin];
      if (u != kNone) --reads[u];
    }
    // A cast between two blocks' worth of nodes was visited after its readers, since those have higher numbers or lie
    // in bodies, whose numbers are higher too.
  }

  /// The casts that stay, by the value that they read from now on.
  void gather_own_casts() {
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (!m_.op_of(n).is_cast || plan_.removed[n] != 0 || m_.operands_of(n).empty()) continue;
      const std::uint32_t at = m_.nodes[n].operand_begin;
      if (plan_.operand_values[at] != kNone && plan_.operand_casts[at] == kNone)
        own_casts_.emplace_back(plan_.operand_values[at], n);
    }
    std::sort(own_casts_.begin(), own_casts_.end());
  }

  /// A cast of the model's own that makes the same version of the value, in a block that encloses `block`.
  NodeId own_cast(const Record& r, BlockId block) const {
    if (r.from != plan_.home[r.value]) return kNone;
    const auto [first, last] = std::equal_range(own_casts_.begin(), own_casts_.end(), std::pair(r.value, NodeId{0}),
                                                [](const auto& x, const auto& y) { return x.first < y.first; });
    for (auto at = first; at != last; ++at) {
      const NodeId n = at->second;
      if (makes(n, r.to) && m_.encloses(m_.nodes[n].block, block)) return n;
    }
    return kNone;
  }

  // ---- where -----------------------------------------------------------------------------------------------------

  BlockId common(BlockId a, BlockId b) const {
    while (a != b) {
      if (m_.blocks[a].depth >= m_.blocks[b].depth) {
        a = m_.blocks[a].parent;
      } else {
        b = m_.blocks[b].parent;
      }
    }
    return a;
  }

  /// Out of every body between the value's block and `b` that may run many times, and of a function's: a call is given
  /// what the function reads, so that calls with operands of the same types can share one function (R29).
  BlockId lift(BlockId b, BlockId defined) const {
    BlockId place = b;
    for (BlockId at = b; at != defined; at = m_.blocks[at].parent) {
      if (m_.blocks[at].repeats || m_.blocks[at].call != kNone) place = m_.blocks[at].parent;
    }
    return place;
  }

  NodeId anchor_in(BlockId place, Use use) const {
    while (use.block != place) {
      use.node = m_.blocks[use.block].owner;
      use.block = m_.blocks[use.block].parent;
    }
    return use.node;
  }

  void place(std::uint32_t i) {
    const Record& r = records_[i];
    CastNode cast;
    cast.value = r.value;
    cast.from = r.from;
    cast.to = r.to;
    cast.takes_name = required_[r.value] == r.to;
    BlockId block = r.uses.front().block;
    for (const Use& u : r.uses) block = common(block, u.block);
    cast.block = lift(block, m_.values[r.value].block);
    if (!cast.takes_name) cast.reused = own_cast(r, cast.block);
    cast.stored = copy_of(r.value, r.to) != nullptr;
    if (cast.reused != kNone) cast.block = m_.nodes[cast.reused].block;
    for (const Use& u : r.uses) {
      const NodeId anchor = anchor_in(cast.block, u);
      if (anchor < cast.before) {
        cast.before = anchor;
        cast.consumer = u.node;
      }
    }
    if (cast.reused != kNone) cast.before = std::min(cast.before, cast.reused);
    plan_.casts.push_back(std::move(cast));
  }

  WeightPlan* copy_of(ValueId v, ElemType to) {
    if (c_.rules.settings().shared != lang::Shared::both) return nullptr;
    for (WeightPlan& w : plan_.weights) {
      if (w.value == v && w.storage == Storage::both && w.low == to) return &w;
    }
    return nullptr;
  }

  // ---- names -----------------------------------------------------------------------------------------------------

  std::string fresh(std::string_view value, ElemType t) {
    const std::string base = fmt::format("{}.cast_{}", value, short_name(t));
    std::string name = base;
    for (int i = 1; taken(name); ++i) name = fmt::format("{}_{}", base, i);
    used_.insert(name);
    return name;
  }

  /// Node names are a space of their own; TensorFlow's exporter names nodes like their values.
  std::string fresh_node(const CastNode& cast) {
    if (!gathered_) {
      gathered_ = true;
      node_names_.reserve(m_.nodes.size());
      for (const Node& n : m_.nodes) node_names_.insert(n.proto->name(), 0);
    }
    const std::string base = fmt::format("{}.cast_{}", m_.values[cast.value].name, short_name(cast.to));
    std::string name = base;
    for (int i = 1; node_names_.find(name) != NameTable::kAbsent || !new_node_names_.insert(name).second; ++i) {
      name = fmt::format("{}_{}", base, i);
    }
    return name;
  }

  bool taken(const std::string& name) const {
    if (used_.contains(name)) return true;
    return std::any_of(m_.blocks.begin(), m_.blocks.end(),
                       [&](const Block& b) { return b.names.find(name) != NameTable::kAbsent; });
  }

  void name() {
    for (CastNode& cast : plan_.casts) {
      const Value& v = m_.values[cast.value];
      if (cast.reused != kNone) continue;
      if (cast.stored) {
        cast.name = fresh(v.name, cast.to);
        copy_of(cast.value, cast.to)->copy_name = cast.name;
      } else if (cast.takes_name) {
        cast.name = v.name;
        if (plan_.home_name.empty()) plan_.home_name.resize(m_.values.size());
        plan_.home_name[cast.value] = fresh(v.name, plan_.home[cast.value]);
      } else {
        cast.name = fresh(v.name, cast.to);
      }
      if (!cast.stored) cast.node_name = fresh_node(cast);
    }
    // The result of a cast of the model's own may have had to make way for a cast of its own.
    for (CastNode& cast : plan_.casts) {
      if (cast.reused != kNone) cast.name = plan_.name_of(m_, m_.results_of(cast.reused)[0]);
    }
  }

  void count() {
    plan_.added_casts = static_cast<std::size_t>(std::count_if(
        plan_.casts.begin(), plan_.casts.end(), [](const CastNode& c) { return c.reused == kNone && !c.stored; }));
    bool same = plan_.casts.empty() && plan_.retargets.empty() && plan_.home_name.empty();
    same = same && std::all_of(plan_.weights.begin(), plan_.weights.end(),
                               [](const WeightPlan& w) { return w.storage == Storage::as_is; });
    same = same && std::all_of(plan_.removed.begin(), plan_.removed.end(), [](std::uint8_t r) { return r == 0; });
    same = same && plan_.operand_values == m_.operands;
    for (ValueId v = 0; same && v < m_.values.size(); ++v) same = plan_.home[v] == m_.values[v].type;
    plan_.identity = same;
  }

  const PassContext& c_;
  const Model& m_;
  Plan& plan_;
  Interface interface_;
  bool redundant_ = false;          // casts of the model's own that change nothing are read past
  std::vector<ElemType> required_;  // by ValueId
  std::vector<std::array<std::uint32_t, kVersions>> record_of_;
  std::vector<Record> records_;
  std::vector<std::pair<ValueId, NodeId>> own_casts_;
  std::unordered_set<std::string> used_;
  NameTable node_names_;  // of the model's own nodes, gathered with the first cast
  bool gathered_ = false;
  std::unordered_set<std::string> new_node_names_;
};

}  // namespace

void place_casts(const PassContext& c) { Placer(c).run(); }

}  // namespace ampc::passes
