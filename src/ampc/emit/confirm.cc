#include "ampc/emit/confirm.h"

#include <map>
#include <unordered_map>
#include <utility>

namespace ampc::emit {

bool confirm(Plan& plan, const WeightJobs& jobs) {
  if (plan.assumed.empty()) return true;
  std::map<std::pair<const std::byte*, ElemType>, std::uint64_t> casts;
  for (std::uint64_t i = 0; i < jobs.size(); ++i) {
    const WeightJob& job = jobs.at(i);
    if (job.cast && job.conversion.from == ElemType::float32)
      casts.try_emplace({job.source.data(), job.conversion.to}, i);
  }
  std::unordered_map<ValueId, weights::Stats> found;
  for (const Assumed& assumed : plan.assumed) {
    const std::uint64_t count = assumed.bytes.size() / sizeof(float);
    weights::Stats stats;
    if (const auto cast = casts.find({assumed.bytes.data(), assumed.low}); cast != casts.end()) {
      stats = jobs.stats(cast->second);
    }
    if (stats.count != count) {
      const weights::Conversion conversion{ElemType::float32, assumed.low, false};
      stats = weights::measure_parallel(weights::cpu_caster(), conversion, assumed.bytes.data(), count);
    }
    if (!assumed.holds(stats)) return false;
    found.emplace(assumed.value, stats);
  }
  for (WeightPlan& w : plan.weights) {
    if (const auto at = found.find(w.value); at != found.end()) w.stats = at->second;
  }
  return true;
}

}  // namespace ampc::emit
