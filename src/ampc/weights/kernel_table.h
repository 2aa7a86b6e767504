// What one instruction set's kernels offer. Internal to weights/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ampc/weights/caster.h"

namespace ampc::weights {

using NarrowKernel = void (*)(const std::byte* source, std::byte* target, std::size_t count, bool clamp);
using WidenKernel = void (*)(const std::byte* source, std::byte* target, std::size_t count);
using MeasureKernel = Stats (*)(const std::byte* source, std::size_t count);
using CastMeasuredKernel = Stats (*)(const std::byte* source, std::byte* target, std::size_t count, bool clamp);

struct KernelTable {
  NarrowKernel fp32_to_fp16 = nullptr;
  NarrowKernel fp32_to_bf16 = nullptr;
  NarrowKernel fp64_to_fp16 = nullptr;
  NarrowKernel fp64_to_bf16 = nullptr;
  NarrowKernel fp64_to_fp32 = nullptr;
  WidenKernel fp16_to_fp32 = nullptr;
  WidenKernel bf16_to_fp32 = nullptr;
  MeasureKernel measure_fp32_fp16 = nullptr;
  MeasureKernel measure_fp32_bf16 = nullptr;
  MeasureKernel measure_fp64_fp16 = nullptr;
  MeasureKernel measure_fp64_bf16 = nullptr;
  MeasureKernel measure_fp64_fp32 = nullptr;
  CastMeasuredKernel cast_measured_fp32_fp16 = nullptr;
  CastMeasuredKernel cast_measured_fp32_bf16 = nullptr;
  CastMeasuredKernel cast_measured_fp64_fp16 = nullptr;
  CastMeasuredKernel cast_measured_fp64_bf16 = nullptr;
  CastMeasuredKernel cast_measured_fp64_fp32 = nullptr;
};

struct NamedKernels {
  std::string name;
  KernelTable table;
};

/// Whether this x86 machine, and its operating system, run code for a Highway target (a value of HWY_TARGET).
bool machine_runs(std::int64_t target);
/// Element by element, through element.h.
KernelTable scalar_kernels();
/// One for every Highway target that this machine can run, best first.
std::vector<NamedKernels> highway_kernels();
/// The caster that `forced` names, the best where it is empty. Throws std::invalid_argument as `cpu_caster` does.
Caster& pick_cpu_caster(std::string_view forced);

}  // namespace ampc::weights
