#include "ampc/weights/cuda/cuda_kernels.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "ampc/weights/grid_cast.h"

namespace ampc::weights::cuda {
namespace {

constexpr unsigned kThreads = 256;     // of a block; eight of these are all that a multiprocessor holds
constexpr std::size_t kPerThread = 8;  // elements of a group: no more threads than groups

template <class T>
__device__ T warp_sum(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffU, value, step);
  return value;
}

template <class T>
__device__ T warp_max(T value) {
  for (int step = 16; step > 0; step /= 2) {
    const T other = __shfl_down_sync(0xffffffffU, value, step);
    if (other > value) value = other;
  }
  return value;
}

/// Adds the tallies of a warp's threads up. Integers in any order give one result.
template <class Bits>
__device__ void add(const grid::Tally<Bits>& tally, Counters* counters) {
  const Bits largest = warp_max(tally.largest);
  const std::uint32_t nonfinite = warp_sum(tally.nonfinite);
  const std::uint32_t overflow = warp_sum(tally.overflow);
  const std::uint32_t underflow = warp_sum(tally.underflow);
  const std::uint32_t subnormal = warp_sum(tally.subnormal);
  if (threadIdx.x % 32 != 0) return;
  if (largest != 0) atomicMax(sizeof(Bits) == 4 ? &counters->largest32 : &counters->largest64, largest);
  if (nonfinite != 0) atomicAdd(&counters->nonfinite, nonfinite);
  if (overflow != 0) atomicAdd(&counters->overflow, overflow);
  if (underflow != 0) atomicAdd(&counters->underflow, underflow);
  if (subnormal != 0) atomicAdd(&counters->subnormal, subnormal);
}

template <class Op>
__global__ void __launch_bounds__(kThreads)
    cast_kernel(const std::byte* source, std::byte* target, std::size_t count, [[maybe_unused]] Counters* counters) {
  Op op;
  grid::cast(source, target, count, std::size_t{blockIdx.x} * blockDim.x + threadIdx.x,
             std::size_t{gridDim.x} * blockDim.x, op);
  if constexpr (sizeof(typename Op::From::Bits) > sizeof(typename Op::To::Bits)) add(op.tally, counters);
}

using Kernel = void (*)(const std::byte*, std::byte*, std::size_t, Counters*);

template <class From, class To>
Kernel narrowing(bool clamp) {
  return clamp ? cast_kernel<grid::Narrowing<From, To, true>> : cast_kernel<grid::Narrowing<From, To, false>>;
}

Kernel kernel_of(const Conversion& c) {
  const bool fp16 = c.to == ElemType::float16;
  if (c.to == ElemType::float32) {
    if (c.from == ElemType::float16) return cast_kernel<grid::Widening<Fp16, Fp32>>;
    if (c.from == ElemType::bfloat16) return cast_kernel<grid::Widening<Bf16, Fp32>>;
  } else if (is_low(c.to)) {
    if (c.from == ElemType::float32) return fp16 ? narrowing<Fp32, Fp16>(c.clamp) : narrowing<Fp32, Bf16>(c.clamp);
    if (c.from == ElemType::float64) return fp16 ? narrowing<Fp64, Fp16>(c.clamp) : narrowing<Fp64, Bf16>(c.clamp);
  }
  return nullptr;
}

}  // namespace

cudaError_t launch(const Conversion& conversion, const std::byte* source, std::byte* target, std::size_t count,
                   Counters* counters, unsigned most_blocks, cudaStream_t stream) {
  const Kernel kernel = kernel_of(conversion);
  if (kernel == nullptr) return cudaErrorInvalidValue;
  const std::size_t blocks = (count + kThreads * kPerThread - 1) / (kThreads * kPerThread);
  kernel<<<static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, most_blocks)), kThreads, 0, stream>>>(
      source, target, count, counters);
  return cudaGetLastError();
}

cudaError_t prepare() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, cast_kernel<grid::Widening<Fp16, Fp32>>);
}

}  // namespace ampc::weights::cuda
