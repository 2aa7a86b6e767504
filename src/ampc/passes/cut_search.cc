#include "ampc/passes/cut_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ampc/passes/access.h"
#include "ampc/passes/cut_network.h"

namespace ampc::passes {
namespace {

constexpr int kTries = 12;  // prices of a cast that are tried, to find one that is high enough and then to lower it

bool better(const Outcome& a, const Outcome& b) { return a.bytes != b.bytes ? a.bytes < b.bytes : a.casts < b.casts; }

}  // namespace

Outcome CutSearch::measure(std::vector<Decision> nodes) const {
  Plan plan = c_.plan;
  plan.nodes = std::move(nodes);
  const PassContext trial{m_, c_.rules, c_.readers, c_.diagnostics, plan, c_.assume, c_.measure};
  settle(trial);
  if (move_) move_casts(trial);
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

std::vector<Decision> CutSearch::with(const std::vector<Choice>& choices, const Ask& ask) const {
  std::vector<Decision> nodes = c_.plan.nodes;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Decision& d = nodes[open_[i]];
    if (d.choice == choices[i]) continue;
    d.choice = choices[i];
    d.reason = choices[i] == Choice::low ? ask.low : ask.fp32;
    d.value = kNone;
  }
  return nodes;
}

Outcome CutSearch::best(const std::vector<Outcome>& known, const Ask& ask) const {
  std::size_t most_casts = known.front().casts;
  for (const Outcome& o : known) most_casts = std::min(most_casts, o.casts);
  std::optional<Outcome> best;
  const auto take = [&](const Outcome& o) {
    if (o.casts > most_casts) return false;
    if (!best || !better(*best, o)) best = o;  // of two as good the later: a cut before what is known
    return true;
  };
  for (const Outcome& o : known) take(o);

  Plan plan = c_.plan;
  plan.nodes = ask.wish.nodes;
  plan.low_results = ask.wish.low_results;
  plan.any_low = true;
  const CutNetwork network({m_, c_.rules, c_.readers, c_.diagnostics, plan, c_.assume, c_.measure}, open_, elements_,
                           ask.exact);
  const auto solved = [&](std::int64_t price) { return measure(with(network.solve(price), ask)); };
  const Outcome cheapest = solved(0);
  if (take(cheapest)) return *best;
  // Fewer bytes would take more casts: a price below which it takes too many, and one from which on it does not.
  std::int64_t low = 0;
  std::int64_t high = std::max<std::int64_t>(16, cheapest.bytes / static_cast<std::int64_t>(cheapest.casts + 1));
  for (int i = 0; i < kTries && !take(solved(high)); ++i, high *= 8) low = high;
  for (int i = 0; i < kTries && high - low > high / 16; ++i) {
    const std::int64_t middle = low + (high - low) / 2;
    (take(solved(middle)) ? high : low) = middle;
  }
  return *best;
}

}  // namespace ampc::passes
