#include "fake_cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ampc/weights/cuda/cuda_kernels.h"
#include "ampc/weights/grid_cast.h"

struct FakeStream {
  struct Step {
    std::function<void()> work;
    std::vector<const void*> uses;
  };
  int device = 0;
  std::deque<Step> queue;
};

namespace {

struct Block {
  std::size_t bytes = 0;
  int device = -1;  // -1: pinned host memory
};

std::mutex mutex;
fake_cuda::Machine machine;
std::map<const char*, Block> blocks;
std::map<FakeStream*, std::unique_ptr<FakeStream>> streams;
std::map<int, std::size_t> on_device;
std::size_t most = 0;
int count_of_calls = 0;
bool broken = false;
std::string failed;
std::string misused;
thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;

void misuse(const std::string& what) {
  if (misused.empty()) misused = what;
}

/// Counts a call; its error where it is to fail.
cudaError_t enter(const char* name, cudaError_t fault = cudaErrorIllegalAddress) {
  ++count_of_calls;
  if (!broken && count_of_calls != machine.fail_at) return cudaSuccess;
  if (failed.empty()) failed = name;
  broken = machine.for_good;
  return last = fault;
}

/// Whether [at, at + bytes) lies in memory of that device (-1: the host's).
bool lies_in(const void* at, std::size_t bytes, int device) {
  const auto* begin = static_cast<const char*>(at);
  auto after = blocks.upper_bound(begin);
  if (after == blocks.begin()) return false;
  const auto& [start, block] = *std::prev(after);
  return block.device == device && begin + bytes <= start + block.bytes;
}

void expect(const void* at, std::size_t bytes, int device, const char* what) {
  if (!lies_in(at, bytes, device)) misuse(std::string(what) + " outside of its memory");
}

cudaError_t allocate(void** memory, std::size_t bytes, int device) {
  if (device >= 0 && on_device[device] + bytes > machine.memory) return last = cudaErrorMemoryAllocation;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0xa5, bytes);
  blocks[static_cast<char*>(*memory)] = {bytes, device};
  if (device >= 0) most = std::max(most, on_device[device] += bytes);
  return cudaSuccess;
}

cudaError_t release(void* memory, bool host) {
  if (memory == nullptr) return cudaSuccess;
  const auto it = blocks.find(static_cast<char*>(memory));
  if (it == blocks.end() || (it->second.device < 0) != host) {
    misuse("memory freed that is not held");
    return last = cudaErrorInvalidValue;
  }
  for (const auto& [stream, owned] : streams) {
    for (const FakeStream::Step& step : stream->queue) {
      for (const void* at : step.uses) {
        const auto offset = static_cast<std::size_t>(static_cast<const char*>(at) - it->first);
        if (offset < it->second.bytes) misuse("memory freed under a stream");
      }
    }
  }
  if (it->second.device >= 0) on_device[it->second.device] -= it->second.bytes;
  blocks.erase(it);
  std::free(memory);
  return cudaSuccess;
}

template <class Op>
void run(const std::byte* source, std::byte* target, std::size_t count, ampc::weights::cuda::Counters* counters) {
  static constexpr std::size_t kThreads = 3;
  for (std::size_t t = 0; t < kThreads; ++t) {
    Op op;
    ampc::weights::grid::cast(source, target, count, t, kThreads, op);
    if constexpr (requires { op.tally; }) {
      auto& largest = sizeof(typename Op::From::Bits) == 4 ? counters->largest32 : counters->largest64;
      largest = std::max<unsigned long long>(largest, op.tally.largest);
      counters->nonfinite += op.tally.nonfinite;
      counters->overflow += op.tally.overflow;
      counters->underflow += op.tally.underflow;
      counters->subnormal += op.tally.subnormal;
    }
  }
}

}  // namespace

namespace fake_cuda {

void reset(const Machine& m) {
  const std::scoped_lock lock(mutex);
  for (const auto& [start, block] : blocks) std::free(const_cast<char*>(start));
  blocks.clear();
  streams.clear();
  on_device.clear();
  machine = m;
  most = 0;
  count_of_calls = 0;
  broken = false;
  failed.clear();
  misused.clear();
  current = 0;
  last = cudaSuccess;
}

int calls() { return count_of_calls; }
std::string failed_call() { return failed; }
std::size_t held() {
  std::size_t bytes = streams.size();
  for (const auto& [start, block] : blocks) bytes += block.bytes;
  return bytes;
}
std::string misuse() { return misused; }
std::size_t most_on_a_device() { return most; }

}  // namespace fake_cuda

cudaError_t cudaGetDeviceCount(int* count) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("cudaGetDeviceCount")) return fault;
  *count = machine.devices;
  return machine.driver;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("cudaGetDeviceProperties")) return fault;
  std::snprintf(properties->name, sizeof properties->name, "played %d", device);
  properties->multiProcessorCount = 2;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("cudaSetDevice")) return fault;
  current = device;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("cudaStreamCreateWithFlags")) return fault;
  auto made = std::make_unique<FakeStream>();
  made->device = current;
  *stream = made.get();
  streams[*stream] = std::move(made);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  const auto fault = enter("cudaStreamSynchronize");
  while (!stream->queue.empty()) {
    if (fault == cudaSuccess) stream->queue.front().work();
    stream->queue.pop_front();
  }
  return fault;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  if (!stream->queue.empty()) misuse("a stream destroyed with work in it");
  if (streams.erase(stream) != 1) misuse("a stream destroyed that is none");
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("cudaHostAlloc", cudaErrorMemoryAllocation)) return fault;
  return allocate(memory, bytes, -1);
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("cudaMalloc", cudaErrorMemoryAllocation)) return fault;
  return allocate(memory, bytes, current);
}

cudaError_t cudaFreeHost(void* memory) {
  const std::scoped_lock lock(mutex);
  return release(memory, true);
}

cudaError_t cudaFree(void* memory) {
  const std::scoped_lock lock(mutex);
  return release(memory, false);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("cudaMemcpyAsync")) return fault;
  const bool up = kind == cudaMemcpyHostToDevice;
  if (stream->device != current) misuse("a copy queued with another device current");
  expect(to, bytes, up ? current : -1, "a copy to");
  expect(from, bytes, up ? -1 : current, "a copy from");
  stream->queue.push_back({[=] { std::memcpy(to, from, bytes); }, {to, from}});
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("cudaMemsetAsync")) return fault;
  expect(memory, bytes, current, "a fill");
  stream->queue.push_back({[=] { std::memset(memory, value, bytes); }, {memory}});
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(last, cudaSuccess); }

const char* cudaGetErrorString(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    default:
      return "an illegal memory access was encountered";
  }
}

namespace ampc::weights::cuda {

cudaError_t launch(const Conversion& c, const std::byte* source, std::byte* target, std::size_t count,
                   Counters* counters, unsigned most_blocks, cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("launch")) return fault;
  // A fault that nobody has fetched is reported by the next launch.
  if (last != cudaSuccess) return cudaGetLastError();
  expect(source, count * byte_size(c.from), current, "a kernel's source");
  expect(target, count * byte_size(c.to), current, "a kernel's target");
  if (most_blocks == 0 || stream->device != current) misuse("a kernel started on the wrong device, or in no block");
  const bool fp16 = c.to == ElemType::float16;
  const auto queue = [&]<class Op>() {
    stream->queue.push_back({[=] { run<Op>(source, target, count, counters); }, {source, target, counters}});
  };
  const auto narrow = [&]<class From, class To>() {
    c.clamp ? queue.template operator()<grid::Narrowing<From, To, true>>()
            : queue.template operator()<grid::Narrowing<From, To, false>>();
  };
  if (c.from == ElemType::float16) {
    queue.template operator()<grid::Widening<Fp16, Fp32>>();
  } else if (c.from == ElemType::bfloat16) {
    queue.template operator()<grid::Widening<Bf16, Fp32>>();
  } else if (c.from == ElemType::float64) {
    fp16 ? narrow.template operator()<Fp64, Fp16>() : narrow.template operator()<Fp64, Bf16>();
  } else {
    fp16 ? narrow.template operator()<Fp32, Fp16>() : narrow.template operator()<Fp32, Bf16>();
  }
  return cudaSuccess;
}

cudaError_t prepare() {
  const std::scoped_lock lock(mutex);
  if (const auto fault = enter("prepare")) return fault;
  return current >= machine.codeless ? cudaSuccess : last = cudaErrorInvalidValue;
}

}  // namespace ampc::weights::cuda
