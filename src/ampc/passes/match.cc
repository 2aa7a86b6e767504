#include "ampc/passes/match.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "onnx/onnx_pb.h"

#include "ampc/model/tensors.h"
#include "ampc/weights/element.h"

namespace ampc {
namespace {

constexpr std::size_t kMostTries = 20000;   // at one node: a bound on what a rule file can cost, far above any pattern
constexpr std::size_t kMostOrdered = 4;     // operands that are tried in every order
constexpr std::int64_t kMostElements = 64;  // of a constant
constexpr double kTolerance = 1.0 / 512;    // a constant may have been rounded to bf16 once

/// More than one where a function of the model imports another version of the domain.
std::vector<OpId> find_ops(const Model& m, const lang::OpName& name) {
  std::vector<OpId> found;
  for (OpId op = 0; op < m.ops.size(); ++op) {
    if (!m.ops[op].is_call && m.ops[op].domain == name.domain && m.ops[op].name == name.name) found.push_back(op);
  }
  if (found.empty()) found.push_back(kNone);
  return found;
}

bool near(double x, double want) { return std::fabs(x - want) <= kTolerance * std::fabs(want); }

template <typename T>
bool all_near(wire::Bytes bytes, double want) {
  if (bytes.size() < sizeof(T)) return false;
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T x = 0;
    std::memcpy(&x, bytes.data() + at, sizeof x);
    if (!near(static_cast<double>(x), want)) return false;
  }
  return true;
}

/// 16-bit floats, whichever field they stand in.
template <typename ToFloat>
bool all_near(const Model& m, const onnx::TensorProto& t, double want, const ToFloat& to_float) {
  std::vector<std::uint16_t> bits(t.int32_data().begin(), t.int32_data().end());
  if (const wire::Bytes bytes = tensors::bytes_of(m, t); !bytes.empty()) {
    bits.resize(bytes.size() / sizeof bits[0]);
    std::memcpy(bits.data(), bytes.data(), bits.size() * sizeof bits[0]);
  }
  return !bits.empty() && std::all_of(bits.begin(), bits.end(),
                                      [&](std::uint16_t b) { return near(static_cast<double>(to_float(b)), want); });
}

/// A weight whose elements all are `want`.
bool is_constant(const Model& m, ValueId v, double want) {
  while (m.values[v].producer != kNone && m.op_of(m.values[v].producer).is_cast) {
    const auto operands = m.operands_of(m.values[v].producer);
    if (operands.empty() || operands[0] == kNone) return false;
    v = operands[0];
  }
  const Value& value = m.values[v];
  if (value.weight == nullptr || value.graph_input) return false;
  std::int64_t count = 1;
  for (const std::int64_t d : value.weight->dims()) count = d > kMostElements ? d : count * d;
  if (count < 1 || count > kMostElements) return false;
  const wire::Bytes bytes = tensors::bytes_of(m, *value.weight);
  switch (value.type) {
    case ElemType::float32:
      return all_near<float>(bytes, want);
    case ElemType::float64:
      return all_near<double>(bytes, want);
    case ElemType::int64:
      return all_near<std::int64_t>(bytes, want);
    case ElemType::int32:
      return all_near<std::int32_t>(bytes, want);
    case ElemType::float16:
      return all_near(m, *value.weight, want, [](std::uint16_t b) {
        return std::bit_cast<float>(weights::widen<weights::Fp16, weights::Fp32>(b));
      });
    case ElemType::bfloat16:
      return all_near(m, *value.weight, want, [](std::uint16_t b) {
        return std::bit_cast<float>(weights::widen<weights::Bf16, weights::Fp32>(b));
      });
    default:
      return false;
  }
}

}  // namespace

BoundPattern::Call BoundPattern::bind(const lang::PatternRule::Call& said, OpId op, const Model& m) {
  Call call;
  call.said = &said;
  call.op = op;
  const Signature* s = op == kNone ? nullptr : m.ops[op].signature;
  static const std::vector<Formal> none;
  for (const auto& a : said.arguments) {
    const int p = position_of(a.operand, s == nullptr ? none : s->inputs);
    if (p < 0) call.op = kNone;  // an attribute at this opset
    call.arguments.push_back({static_cast<std::uint32_t>(std::max(p, 0)), &a});
  }
  return call;
}

BoundPattern::BoundPattern(const lang::PatternRule& pattern, const Model& m) : rule(&pattern) {
  for (const auto& step : pattern.steps) {
    auto& calls = steps.emplace_back();
    for (const auto& said : step.calls) {
      for (const OpId op : find_ops(m, said.op)) calls.push_back(bind(said, op, m));
    }
  }
}

/// A step comes after those that it reads.
bool BoundPattern::possible() const {
  std::vector<std::uint8_t> there(steps.size(), 0);
  const auto readable = [&](const Argument& a) {
    if (a.said->value == lang::PatternRule::kAnything) return true;
    const std::uint32_t s = rule->values[a.said->value].step;
    return s == lang::PatternRule::kAnything || there[s] != 0;
  };
  for (std::size_t s = 0; s < steps.size(); ++s) {
    there[s] = std::any_of(steps[s].begin(), steps[s].end(), [&](const Call& c) {
      if (c.said->optional && readable(c.arguments[0])) return true;
      return c.op != kNone && std::all_of(c.arguments.begin(), c.arguments.end(), readable);
    });
  }
  return there[rule->root] != 0;
}

Matcher::Matcher(const BoundPattern& pattern, const Model& m, const RuleIndex& rules)
    : pattern_(pattern), m_(m), rules_(rules) {}

bool Matcher::at(NodeId root, NearMiss* near) {
  bound_.assign(pattern_.rule->values.size(), kNone);
  node_.assign(pattern_.steps.size(), kNone);
  goals_.clear();
  tries_ = 0;
  gave_up_ = false;
  near_ = near;
  root_ = root;
  for (const auto& c : pattern_.root()) {
    if (c.op == m_.nodes[root].op && call(c, pattern_.rule->root, root, 0)) return true;
  }
  return false;
}

std::vector<NodeId> Matcher::nodes() const {
  std::vector<NodeId> list;
  for (const NodeId n : node_) {
    if (n != kNone) list.push_back(n);
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

std::vector<ValueId> Matcher::given() const {
  std::vector<ValueId> list;
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    if (pattern_.rule->values[i].step == lang::PatternRule::kAnything && bound_[i] != kNone) list.push_back(bound_[i]);
  }
  return list;
}

/// All goals from this one on, with every choice that they leave open.
bool Matcher::solve(std::size_t goal) {
  if (goal == goals_.size()) return true;
  if (++tries_ > kMostTries) {
    gave_up_ = true;
    return false;
  }
  const Goal g = goals_[goal];
  if (bound_[g.value] != kNone) return bound_[g.value] == g.at && solve(goal + 1);
  const std::uint32_t s = pattern_.rule->values[g.value].step;
  bound_[g.value] = g.at;
  if (s == lang::PatternRule::kAnything ? solve(goal + 1) : step(s, g.at, goal + 1)) return true;
  bound_[g.value] = kNone;
  return false;
}

bool Matcher::step(std::uint32_t s, ValueId v, std::size_t next) {
  const NodeId n = m_.values[v].producer;
  const auto& results = pattern_.rule->steps[s].results;
  if (n != kNone) {
    const std::uint32_t slot = m_.values[v].slot;
    const bool named =
        slot < results.size() && results[slot] != lang::PatternRule::kAnything && bound_[results[slot]] == v;
    for (const auto& c : pattern_.steps[s]) {
      if (named && c.op == m_.nodes[n].op && call(c, s, n, next)) return true;
    }
  }
  for (const auto& c : pattern_.steps[s]) {
    if (!c.said->optional) continue;
    const std::size_t before = goals_.size();
    if (add_goal(*c.arguments[0].said, v) && solve(next)) return true;
    goals_.resize(before);
  }
  if (near_ != nullptr) note(s);
  return false;
}

void Matcher::note(std::uint32_t s) {
  const auto count =
      static_cast<std::size_t>(std::count_if(node_.begin(), node_.end(), [](NodeId n) { return n != kNone; }));
  if (count > near_->steps) *near_ = {count, root_, s};
}

bool Matcher::call(const BoundPattern::Call& c, std::uint32_t s, NodeId n, std::size_t next) {
  if (!takes(c, n)) return false;
  node_[s] = n;
  bind_results(s, n, true);
  const auto all = m_.operands_of(n);
  if (operands(c, all, next)) return true;
  const std::size_t count = all.size();
  if (rules_.commutes(c.op) && !c.said->more && count == c.arguments.size() && count > 1 && count <= kMostOrdered) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<ValueId> turned(count);
    while (std::next_permutation(order.begin(), order.end())) {
      for (std::size_t i = 0; i < count; ++i) turned[i] = all[order[i]];
      if (operands(c, turned, next)) return true;
    }
  }
  bind_results(s, n, false);
  node_[s] = kNone;
  return false;
}

/// Whether the node has so many operands and is what `where` says.
bool Matcher::takes(const BoundPattern::Call& c, NodeId n) const {
  const auto all = m_.operands_of(n);
  std::uint64_t asked = 0;
  for (const auto& a : c.arguments) {
    if (a.position >= all.size()) return false;
    asked |= std::uint64_t{1} << std::min(a.position, 63U);
  }
  const Signature* signature = m_.op_of(n).signature;
  for (std::size_t i = 0; i < all.size() && !c.said->more; ++i) {
    const Formal* f = signature == nullptr ? nullptr : signature->input(i);
    const bool may_stay = all[i] == kNone || (f != nullptr && f->optional);
    if (((asked >> std::min<std::size_t>(i, 63)) & 1U) == 0 && !may_stay) return false;
  }
  return !c.said->where || holds(*c.said->where, m_, n);
}

bool Matcher::operands(const BoundPattern::Call& c, std::span<const ValueId> given, std::size_t next) {
  const std::size_t before = goals_.size();
  const bool fits = std::all_of(c.arguments.begin(), c.arguments.end(),
                                [&](const BoundPattern::Argument& a) { return add_goal(*a.said, given[a.position]); });
  if (fits && solve(next)) return true;
  goals_.resize(before);
  return false;
}

/// False where a constant stands there that is not at `v`.
bool Matcher::add_goal(const lang::PatternRule::Argument& said, ValueId v) {
  if (v == kNone) return false;
  if (said.constant) return is_constant(m_, v, *said.constant);
  if (said.value != lang::PatternRule::kAnything) goals_.push_back({said.value, v});
  return true;
}

/// All results of a step are those of one node.
void Matcher::bind_results(std::uint32_t s, NodeId n, bool bind) {
  const auto& results = pattern_.rule->steps[s].results;
  if (results.size() < 2) return;
  const auto made = m_.results_of(n);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] != lang::PatternRule::kAnything) bound_[results[i]] = bind && i < made.size() ? made[i] : kNone;
  }
}

}  // namespace ampc
