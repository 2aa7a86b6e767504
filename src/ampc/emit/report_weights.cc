#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <nlohmann/json.hpp>

#include "ampc/emit/report_data.h"
#include "ampc/model/tensors.h"

namespace ampc::emit {
namespace {

using Json = nlohmann::ordered_json;

/// Smallest and largest finite element.
struct Range {
  float least = std::numeric_limits<float>::infinity(), most = -std::numeric_limits<float>::infinity();

  static Range both(const Range& a, const Range& b) { return {std::min(a.least, b.least), std::max(a.most, b.most)}; }
};

Range range_of(wire::Bytes bytes) {
  constexpr std::size_t kGrain = std::size_t{1} << 18;
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, bytes.size() / sizeof(float), kGrain), Range{},
      [&](const auto& part, Range r) {
        for (std::size_t i = part.begin(); i < part.end(); ++i) {
          float x = 0;
          std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
          if (!std::isfinite(x)) continue;
          x += 0.0F;  // -0 is 0, whichever comes first
          r.least = std::min(r.least, x);
          r.most = std::max(r.most, x);
        }
        return r;
      },
      Range::both);
}

std::string stored_text(const WeightPlan* w) {
  if (w == nullptr || w->storage == Storage::as_is) return "fp32";
  const std::string_view low = short_name(w->low);
  return w->storage == Storage::low    ? std::string(low)
         : w->storage == Storage::both ? fmt::format("fp32 and {}", low)
                                       : fmt::format("fp32, rounded to {}", low);
}

}  // namespace

Json weights_report(const Model& m, const Plan& plan) {
  std::unordered_map<ValueId, const WeightPlan*> planned;
  for (const WeightPlan& w : plan.weights) planned.emplace(w.value, &w);
  Json list = Json::array();
  for (ValueId v = 0; v < m.values.size(); ++v) {
    const Value& value = m.values[v];
    if (value.weight == nullptr || value.type != ElemType::float32) continue;
    const wire::Bytes bytes = tensors::bytes_of(m, *value.weight);
    const auto at = planned.find(v);
    const WeightPlan* w = at == planned.end() ? nullptr : at->second;
    const ElemType low = w == nullptr ? plan.low : w->low;
    const std::uint64_t count = bytes.size() / sizeof(float);
    const bool measured = w != nullptr && w->stats.count == count && count != 0;
    const weights::Stats stats = measured ? w->stats : weights::measure_here({ElemType::float32, low, false}, bytes);
    std::uint64_t after = bytes.size();
    if (w != nullptr && w->storage == Storage::low) after = count * byte_size(low);
    if (w != nullptr && w->storage == Storage::both) after += count * byte_size(low);
    Json one = {
        {"name", value.name}, {"shape", tensors::dims_of(value)}, {"elements", count}, {"stored", stored_text(w)}};
    one["bytes_before"] = bytes.size();
    one["bytes_after"] = after;
    if (const Range r = range_of(bytes); r.least <= r.most) {
      one["least"] = r.least;
      one["most"] = r.most;
    }
    // Of a cast to the low type, whether there is one or not.
    one["overflow"] = stats.overflow;
    one["underflow"] = stats.underflow;
    one["subnormal"] = stats.subnormal;
    one["nonfinite"] = stats.nonfinite;
    if (w != nullptr && w->clamp) one["clamped"] = true;
    if (!plan.kept.empty() && plan.kept[v] != 0) one["kept"] = true;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace ampc::emit
