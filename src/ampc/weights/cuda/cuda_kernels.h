// What the device runs, as the host calls it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "ampc/weights/caster.h"

namespace ampc::weights::cuda {

/// What casts add up to, on the device; zeroes to begin with. The largest magnitudes of fp32 and of fp64 sources, as
/// bits, each has its own, and so have the counts of Stats.
struct Counters {
  unsigned long long largest32;
  unsigned long long largest64;
  unsigned long long nonfinite;
  unsigned long long overflow;
  unsigned long long underflow;
  unsigned long long subnormal;
};

/// Queues a cast of `count` elements, fewer than 2^32, in device memory of any alignment; no more blocks than
/// `most_blocks`. cudaErrorInvalidValue for types that no Caster takes.
cudaError_t launch(const Conversion& conversion, const std::byte* source, std::byte* target, std::size_t count,
                   Counters* counters, unsigned most_blocks, cudaStream_t stream);

/// Blocks that a multiprocessor holds at once.
inline constexpr unsigned kBlocksPerMultiprocessor = 8;

/// Whether there is code that the current device runs; makes it ready.
cudaError_t prepare();

}  // namespace ampc::weights::cuda
