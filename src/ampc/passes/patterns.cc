// R34: parts of the graph that a pattern describes are decided as one.
//
// Every node at which a pattern may end is tried, in parallel; what is found does not depend on how the nodes were
// split. Where two patterns meet in a node, the inner scope's holds; of one scope and different minds, `keep fp32`
// before `follow` before `low`, and a warning tells; of one mind, the larger one is the reason. Values inside of a
// pattern may be read from outside.
#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/passes/match.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

constexpr NodeId kPortion = 4096;  // nodes

/// Where something was met: the first node, and how many.
struct Nodes {
  NodeId first = kNone;
  std::size_t count = 0;
  void add(NodeId n) {
    ++count;
    first = std::min(first, n);
  }
};

class Finder {
 public:
  explicit Finder(const PassContext& c) : c_(c), m_(c.model), by_op_(c.model.ops.size()) {
    for (const auto& rule : c_.rules.rules().patterns) {
      BoundPattern bound(rule, m_);
      if (!bound.possible()) continue;
      const std::size_t at = patterns_.size();
      patterns_.push_back(std::move(bound));
      for (const auto& call : patterns_.back().root()) {
        if (call.op == kNone) continue;
        std::vector<std::size_t>& list = by_op_[call.op];
        if (list.empty() || list.back() != at) list.push_back(at);
      }
    }
  }

  void run() {
    if (patterns_.empty()) return;
    const auto count = static_cast<NodeId>(m_.nodes.size());
    std::vector<std::vector<PatternMatch>> found((count + kPortion - 1) / kPortion);
    tbb::parallel_for(std::size_t{0}, found.size(), [&](std::size_t portion) {
      std::vector<Matcher> matchers;
      for (const BoundPattern& p : patterns_) matchers.emplace_back(p, m_, c_.rules);
      const auto begin = static_cast<NodeId>(portion) * kPortion;
      for (NodeId n = begin; n < std::min(begin + kPortion, count); ++n) {
        for (const std::size_t p : by_op_[m_.nodes[n].op]) try_at(n, *patterns_[p].rule, matchers[p], &found[portion]);
      }
    });
    report_given_up();
    for (auto& list : found) std::move(list.begin(), list.end(), std::back_inserter(c_.plan.matches));
    if (!c_.plan.matches.empty()) share();
  }

 private:
  void try_at(NodeId n, const lang::PatternRule& rule, Matcher& matcher, std::vector<PatternMatch>* found) {
    if (!holds_at(rule, n)) return;
    const bool matched = matcher.at(n);
    if (matcher.gave_up()) {
      const std::lock_guard lock(given_up_mutex_);
      given_up_[&rule].add(n);
    }
    if (!matched) return;
    PatternMatch match{&rule, n, matcher.nodes(), matcher.given()};
    if (std::all_of(match.nodes.begin(), match.nodes.end(), [&](NodeId inner) { return holds_at(rule, inner); }))
      found->push_back(std::move(match));
  }

  bool holds_at(const lang::PatternRule& rule, NodeId n) const {
    const Options& o = c_.rules.options(n);
    return rule.when.holds(o.level, o.dtype) && c_.rules.scope_depth(rule.scope, n) >= 0;
  }

  /// Which match decides at each node.
  void share() {
    c_.plan.match_of.assign(m_.nodes.size(), kNone);
    for (std::uint32_t i = 0; i < c_.plan.matches.size(); ++i) {
      for (const NodeId n : c_.plan.matches[i].nodes) {
        std::uint32_t& at = c_.plan.match_of[n];
        if (at == kNone) {
          at = i;
          continue;
        }
        const lang::PatternRule& mine = *c_.plan.matches[i].rule;
        const lang::PatternRule& other = *c_.plan.matches[at].rule;
        const int deeper = c_.rules.scope_depth(mine.scope, n) - c_.rules.scope_depth(other.scope, n);
        const bool same = mine.action == other.action;
        const bool better = deeper != 0 ? deeper > 0
                            : same      ? c_.plan.matches[i].nodes.size() > c_.plan.matches[at].nodes.size()
                                        : careful(mine.action) > careful(other.action);
        if (deeper == 0 && !same) disagree(better ? mine : other, better ? other : mine, n);
        if (better) at = i;
      }
    }
    for (const auto& [rules, conflict] : conflicts_) {
      const auto& [wins, loses] = rules;
      auto& d = c_.diagnostics
                    .warning(codes::kPatternsOverlap,
                             fmt::format("the patterns '{}' and '{}' meet in {}{} and say different things of it",
                                         wins->name, loses->name, m_.describe(conflict.first),
                                         conflict.count == 1 ? "" : fmt::format(" and {} more", conflict.count - 1)))
                    .at(loses->span, std::string(text(loses->action)) + " here")
                    .also(wins->span, std::string(text(wins->action)) + " here, which holds");
      d.fix("make one of the two more specific, or let both say the same");
    }
  }

  void report_given_up() {
    for (const auto& [rule, at] : given_up_) {
      c_.diagnostics
          .warning(codes::kPatternTooWide,
                   fmt::format("the pattern '{}' can match at {}{} in too many ways: not all were tried", rule->name,
                               m_.describe(at.first), at.count == 1 ? "" : fmt::format(" and {} more", at.count - 1)))
          .at(rule->span)
          .fix("name the operands that `_` and `?` leave open, or split the pattern");
    }
  }

  static int careful(lang::PatternRule::Action a) {
    return a == lang::PatternRule::Action::keep_fp32 ? 2 : a == lang::PatternRule::Action::follow ? 1 : 0;
  }
  static std::string_view text(lang::PatternRule::Action a) {
    constexpr std::string_view words[] = {"keep fp32", "low", "follow"};
    return words[static_cast<std::size_t>(a)];
  }

  void disagree(const lang::PatternRule& wins, const lang::PatternRule& loses, NodeId n) {
    // Rules are in one array, in an order of their own: their addresses are as good as their indices.
    conflicts_[{&wins, &loses}].add(n);
  }

  const PassContext& c_;
  const Model& m_;
  std::vector<BoundPattern> patterns_;
  std::vector<std::vector<std::size_t>> by_op_;  // patterns by the operator of their last step
  std::map<std::pair<const lang::PatternRule*, const lang::PatternRule*>, Nodes> conflicts_;
  std::mutex given_up_mutex_;
  std::map<const lang::PatternRule*, Nodes> given_up_;
};

}  // namespace

void match_patterns(const PassContext& c) { Finder(c).run(); }

void unite_patterns(const PassContext& c) {
  const auto& matches = c.plan.matches;
  const auto decides = [&](std::uint32_t i, NodeId n) { return c.plan.nodes[n].match == i; };
  std::vector<std::uint32_t> work;
  for (std::uint32_t i = 0; i < matches.size(); ++i) work.push_back(i);
  // A node may be part of several matches: what one of them does to it may concern another.
  std::map<NodeId, std::vector<std::uint32_t>> shared;
  for (std::uint32_t i = 0; i < matches.size(); ++i) {
    for (const NodeId n : matches[i].nodes) {
      if (c.plan.match_of[n] != i) {
        auto& list = shared[n];
        if (list.empty()) list.push_back(c.plan.match_of[n]);
        list.push_back(i);
      }
    }
  }
  while (!work.empty()) {
    const std::uint32_t i = work.back();
    work.pop_back();
    if (matches[i].rule->action == lang::PatternRule::Action::keep_fp32) continue;
    const auto& nodes = matches[i].nodes;
    const auto held =
        std::find_if(nodes.begin(), nodes.end(), [&](NodeId n) { return c.plan.nodes[n].choice == Choice::fp32; });
    if (held == nodes.end()) continue;
    for (const NodeId n : nodes) {
      Decision& d = c.plan.nodes[n];
      if (!decides(i, n) || (d.choice != Choice::low && d.choice != Choice::open)) continue;
      const auto results = c.model.results_of(*held);
      d.choice = Choice::fp32;
      d.reason = Reason::pattern_as_one;
      d.value = results.empty() ? kNone : results[0];
      if (const auto others = shared.find(n); others != shared.end())
        work.insert(work.end(), others->second.begin(), others->second.end());
    }
  }
}

}  // namespace ampc::passes
