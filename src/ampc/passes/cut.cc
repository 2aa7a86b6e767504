// R16: all open nodes at once, for the fewest bytes through casts.
//
// The nodes are decided as `follow` and as `promote` would, then by a minimum cut. Each outcome is carried through to
// its casts and measured, and only what needs no more casts than both is taken: of that, what casts the fewest bytes.
// Where fewer bytes would take more casts, the cut is asked again with a price on every cast.
#include <algorithm>
#include <optional>

#include "ampc/model/shapes.h"
#include "ampc/passes/access.h"
#include "ampc/passes/cut_network.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

constexpr int kTries =
    12;  // prices of a cast that are tried, at most, to find one that is high enough; and to lower it

class Cut {
 public:
  explicit Cut(const PassContext& c) : c_(c), m_(c.model) {}

  void run() {
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (c_.plan.nodes[n].choice == Choice::open && c_.plan.nodes[n].cut) open_.push_back(n);
    }
    if (open_.empty()) return;
    elements_ = element_counts(m_);
    const Outcome follow = local(false), promote = local(true);
    const bool wish_promote = c_.plan.nodes[open_.front()].promote;
    most_casts_ = std::min(follow.casts, promote.casts);
    best_ = follow.casts <= most_casts_ ? follow : promote;
    if (promote.casts <= most_casts_ && better(promote, *best_)) best_ = promote;
    search(wish_promote ? promote : follow);
    for (const NodeId n : open_) c_.plan.nodes[n] = best_->nodes[n];
  }

 private:
  struct Outcome {
    std::vector<Decision> nodes;
    std::vector<std::uint8_t> low_results;
    std::int64_t bytes = 0;
    std::size_t casts = 0;
  };

  static bool better(const Outcome& a, const Outcome& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.casts < b.casts;
  }

  /// Each open node by its own operands.
  Outcome local(bool promote) const {
    Plan plan = c_.plan;
    for (const NodeId n : open_) {
      Decision& d = plan.nodes[n];
      d.promote = promote;
      if (promote || d.rule.valid()) continue;
      const lang::Level& level = c_.rules.level(n);  // an operator that no list names
      d.choice = level.default_low ? Choice::low : Choice::fp32;
      d.reason = Reason::level_default;
      d.rule = level.span;
    }
    return measure(std::move(plan));
  }

  Outcome by(const std::vector<Choice>& choices) const {
    Plan plan = c_.plan;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      plan.nodes[open_[i]].choice = choices[i];
      plan.nodes[open_[i]].reason = choices[i] == Choice::low ? Reason::cut_low : Reason::cut_fp32;
    }
    return measure(std::move(plan));
  }

  /// What the decisions of a plan lead to.
  Outcome measure(Plan plan) const {
    const PassContext trial{m_, c_.rules, c_.readers, c_.diagnostics, plan};
    settle(trial);
    Outcome o;
    o.nodes = plan.nodes;
    type_values(trial);
    place_casts(trial);
    const auto count = [&](ValueId v, ElemType from, ElemType to) {
      ++o.casts;
      o.bytes += static_cast<std::int64_t>(elements_[v] * (byte_size(from) + byte_size(to)));
    };
    for (const CastNode& cast : plan.casts) {
      if (cast.reused == kNone && !cast.stored) count(cast.value, cast.from, cast.to);
    }
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      if (!m_.op_of(n).is_cast || plan.removed[n] != 0) continue;
      const ValueId from = plan.operand_values[m_.nodes[n].operand_begin], to = m_.results_of(n)[0];
      if (from != kNone && to != kNone) count(to, plan.home[from], plan.home[to]);
    }
    o.low_results = std::move(plan.low_results);
    return o;
  }

  void search(const Outcome& wish) {
    Plan plan = c_.plan;
    plan.nodes = wish.nodes;
    plan.low_results = wish.low_results;
    plan.any_low = true;
    const CutNetwork network({m_, c_.rules, c_.readers, c_.diagnostics, plan}, open_, elements_);
    Outcome found = by(network.solve(0));
    // A price below which it takes too many casts, and one from which on it does not.
    std::int64_t low = 0, high = std::max<std::int64_t>(16, found.bytes / static_cast<std::int64_t>(found.casts + 1));
    if (!take(found)) {
      for (int i = 0; i < kTries && !take(by(network.solve(high))); ++i, high *= 8) low = high;
      for (int i = 0; i < kTries && high - low > high / 16; ++i) {
        const std::int64_t middle = low + (high - low) / 2;
        (take(by(network.solve(middle))) ? high : low) = middle;
      }
    }
  }

  /// Keeps the outcome where it is the best so far; whether it makes few enough casts.
  bool take(const Outcome& found) {
    if (found.casts > most_casts_) return false;
    if (!better(*best_, found)) best_ = found;
    return true;
  }

  const PassContext& c_;
  const Model& m_;
  std::vector<NodeId> open_;
  std::vector<std::uint64_t> elements_;
  std::size_t most_casts_ = 0;
  std::optional<Outcome> best_;
};

}  // namespace

void cut(const PassContext& c) { Cut(c).run(); }

}  // namespace ampc::passes
