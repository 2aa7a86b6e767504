#include "ampc/passes/assume.h"

#include <algorithm>
#include <array>

#include "onnx/onnx_pb.h"

#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"

namespace ampc::passes {
namespace {

constexpr std::uint64_t kLarge = 16384;  // elements: less is measured in no time
constexpr std::uint64_t kTried = 4096;   // … of which these are, at the beginning
constexpr std::uint64_t kTold = 100;     // one element in so many: told where more become zero

bool asked_for(const PassContext& c, ValueId v) {
  const auto& rules = c.rules.rules().weights;
  return std::any_of(rules.begin(), rules.end(), [&](const lang::WeightRule& r) {
    return r.where && (!r.pattern || r.pattern->matches(c.model.values[v].name));
  });
}

}  // namespace

std::uint64_t most_underflow(const PassContext& c, std::uint64_t count) {
  return c.rules.settings().underflow == lang::Underflow::flush ? count : count / kTold;
}

std::optional<Assumed> assume_ordinary(const PassContext& c, ValueId v, ElemType low) {
  if (!c.assume || asked_for(c, v)) return std::nullopt;
  const onnx::TensorProto& weight = *c.model.values[v].weight;
  if (!weight.has_raw_data() || !wire::marker_index(weight.raw_data())) return std::nullopt;
  const wire::Bytes bytes = tensors::bytes_of(c.model, weight);
  const std::uint64_t count = bytes.size() / sizeof(float);
  if (count < kLarge) return std::nullopt;
  const Assumed assumed{v, low, bytes, most_underflow(c, count)};
  Assumed beginning = assumed;
  beginning.most_underflow = most_underflow(c, kTried);
  std::array<std::byte, kTried * sizeof(float)> begin;
  c.model.storage->copy(bytes.first(begin.size()), begin.data());
  const auto tried = weights::cpu_caster().measure({ElemType::float32, low, false}, begin.data(), kTried);
  return beginning.holds(tried) ? std::optional(assumed) : std::nullopt;
}

}  // namespace ampc::passes
