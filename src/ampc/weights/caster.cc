#include "ampc/weights/caster.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ampc/weights/element.h"
#include "ampc/weights/kernel_table.h"

namespace ampc::weights {
namespace {

[[noreturn]] void reject(const Conversion& conversion) {
  throw std::invalid_argument(fmt::format("no cast kernel from element type {} to {}",
                                          static_cast<unsigned>(conversion.from),
                                          static_cast<unsigned>(conversion.to)));
}

class KernelCaster final : public Caster {
 public:
  explicit KernelCaster(NamedKernels kernels) : name_(std::move(kernels.name)), table_(kernels.table) {}

  std::string_view name() const override { return name_; }

  void cast(const Conversion& conversion, const std::byte* source, std::byte* target, std::size_t count) override {
    if (conversion.to == ElemType::float32 && conversion.from == ElemType::float64) {
      table_.fp64_to_fp32(source, target, count, conversion.clamp);
      return;
    }
    if (conversion.to == ElemType::float32) {
      const WidenKernel kernel = conversion.from == ElemType::float16    ? table_.fp16_to_fp32
                                 : conversion.from == ElemType::bfloat16 ? table_.bf16_to_fp32
                                                                         : nullptr;
      if (kernel == nullptr) reject(conversion);
      kernel(source, target, count);
      return;
    }
    const bool fp16 = conversion.to == ElemType::float16;
    if (!is_low(conversion.to)) reject(conversion);
    if (conversion.from == ElemType::float32) {
      (fp16 ? table_.fp32_to_fp16 : table_.fp32_to_bf16)(source, target, count, conversion.clamp);
    } else if (conversion.from == ElemType::float64) {
      (fp16 ? table_.fp64_to_fp16 : table_.fp64_to_bf16)(source, target, count, conversion.clamp);
    } else {
      reject(conversion);
    }
  }

  Stats measure(const Conversion& conversion, const std::byte* source, std::size_t count) override {
    const bool fp16 = conversion.to == ElemType::float16;
    if (conversion.to == ElemType::float32 && conversion.from == ElemType::float64) {
      return table_.measure_fp64_fp32(source, count);
    }
    if (!is_low(conversion.to)) reject(conversion);
    if (conversion.from == ElemType::float32) {
      return (fp16 ? table_.measure_fp32_fp16 : table_.measure_fp32_bf16)(source, count);
    }
    if (conversion.from == ElemType::float64) {
      return (fp16 ? table_.measure_fp64_fp16 : table_.measure_fp64_bf16)(source, count);
    }
    reject(conversion);
  }

  Stats cast_measured(const Conversion& conversion, const std::byte* source, std::byte* target,
                      std::size_t count) override {
    const bool fp16 = conversion.to == ElemType::float16;
    if (conversion.to == ElemType::float32 && conversion.from == ElemType::float64) {
      return table_.cast_measured_fp64_fp32(source, target, count, conversion.clamp);
    }
    if (!is_low(conversion.to)) reject(conversion);
    if (conversion.from == ElemType::float32) {
      return (fp16 ? table_.cast_measured_fp32_fp16 : table_.cast_measured_fp32_bf16)(source, target, count,
                                                                                      conversion.clamp);
    }
    if (conversion.from == ElemType::float64) {
      return (fp16 ? table_.cast_measured_fp64_fp16 : table_.cast_measured_fp64_bf16)(source, target, count,
                                                                                      conversion.clamp);
    }
    reject(conversion);
  }

 private:
  std::string name_;
  KernelTable table_;
};

/// Best first, "scalar" last.
const std::vector<std::unique_ptr<KernelCaster>>& registry() {
  static const std::vector<std::unique_ptr<KernelCaster>> casters = [] {
    std::vector<std::unique_ptr<KernelCaster>> list;
    for (NamedKernels& kernels : highway_kernels()) list.push_back(std::make_unique<KernelCaster>(std::move(kernels)));
    list.push_back(std::make_unique<KernelCaster>(NamedKernels{"scalar", scalar_kernels()}));
    return list;
  }();
  return casters;
}

}  // namespace

void Stats::merge(const Stats& other) {
  absmax = std::max(absmax, other.absmax);
  count += other.count;
  nonfinite += other.nonfinite;
  overflow += other.overflow;
  underflow += other.underflow;
  subnormal += other.subnormal;
}

Caster& pick_cpu_caster(std::string_view forced) {
  if (forced.empty()) return *registry().front();
  if (Caster* caster = cpu_kernel(forced)) return *caster;
  throw std::invalid_argument(fmt::format("AMPC_FORCE_KERNEL names no kernel of this machine: '{}' (it has {})", forced,
                                          fmt::join(cpu_kernels(), ", ")));
}

Caster& cpu_caster() {
  static Caster& caster = []() -> Caster& {
    const char* forced = std::getenv("AMPC_FORCE_KERNEL");
    return pick_cpu_caster(forced == nullptr ? "" : forced);
  }();
  return caster;
}

std::vector<std::string_view> cpu_kernels() {
  std::vector<std::string_view> names;
  for (const auto& caster : registry()) names.push_back(caster->name());
  return names;
}

Caster* cpu_kernel(std::string_view name) {
  for (const auto& caster : registry()) {
    if (caster->name() == name) return caster.get();
  }
  return nullptr;
}

std::uint16_t to_fp16(float value) { return narrow<Fp32, Fp16>(std::bit_cast<std::uint32_t>(value), false); }
std::uint16_t to_bf16(float value) { return narrow<Fp32, Bf16>(std::bit_cast<std::uint32_t>(value), false); }
float from_fp16(std::uint16_t bits) { return std::bit_cast<float>(widen<Fp16, Fp32>(bits)); }
float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(widen<Bf16, Fp32>(bits)); }

}  // namespace ampc::weights
