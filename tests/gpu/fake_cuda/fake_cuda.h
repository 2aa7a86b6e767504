// How tests steer the runtime that fake_cuda.cc plays.
#pragma once

#include <cstddef>
#include <string>

#include "cuda_runtime_api.h"

namespace fake_cuda {

struct Machine {
  int devices = 1;
  std::size_t memory = std::size_t{1} << 30;  // of a device, in bytes
  cudaError_t driver = cudaSuccess;           // what looking for devices gives
  int codeless = 0;                           // so many devices, the first ones, have no code that they run
  int fail_at = 0;                            // the call with that number, from 1 on, fails; 0: none does
  bool for_good = true;                       // … and so do all after it, but those that free
};

/// Begins anew, with nothing allocated.
void reset(const Machine& machine);
/// Calls since then that may fail, and the name of the one that did.
int calls();
std::string failed_call();
/// Bytes, streams included, that are still held; and faults of use: places outside of what was allocated, memory of the
/// wrong side, host memory that was touched or freed under a copy, another device current than the memory's own.
std::size_t held();
std::string misuse();
/// The most bytes that a device has held.
std::size_t most_on_a_device();

}  // namespace fake_cuda
