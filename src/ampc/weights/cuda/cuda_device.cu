// CUDA devices: a stream, pinned host buffers and device buffers make a lane.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "ampc/weights/device.h"
#include "ampc/weights/grid_cast.h"

namespace ampc::weights {
namespace {

constexpr int kThreads = 256;          // of a block
constexpr int kBlocksPerSm = 8;        // 2048 threads, all that a multiprocessor holds
constexpr std::size_t kPerThread = 8;  // elements of a group: no more threads than groups

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // or the next launch would be blamed for it
  throw DeviceError(std::string(what) + ": " + cudaGetErrorString(code));
}

/// What the casts of a lane add up to, on the device. `largest` is bits of fp32 or of fp64, each its own.
struct Counters {
  unsigned long long largest32;
  unsigned long long largest64;
  unsigned long long nonfinite;
  unsigned long long overflow;
  unsigned long long underflow;
  unsigned long long subnormal;
};

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
  throw DeviceError("no kernel for this pair of types");
}

/// The current device is the thread's, so that every call sets it.
void use(int device) { check(cudaSetDevice(device), "choosing a device"); }

class CudaLane final : public Lane {
 public:
  CudaLane(int device, int multiprocessors, std::size_t source_bytes, std::size_t target_bytes)
      : device_(device),
        most_blocks_(multiprocessors * kBlocksPerSm),
        source_bytes_(source_bytes),
        target_bytes_(target_bytes) {
    try {
      use(device_);
      check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
      pinned(host_source_, source_bytes);
      pinned(host_target_, target_bytes);
      pinned(host_counters_, sizeof(Counters));
      check(cudaMalloc(&source_, source_bytes), "allocating device memory");
      check(cudaMalloc(&target_, target_bytes), "allocating device memory");
      check(cudaMalloc(&counters_, sizeof(Counters)), "allocating device memory");
    } catch (...) {
      release();
      throw;
    }
  }
  ~CudaLane() override { release(); }
  CudaLane(const CudaLane&) = delete;
  CudaLane& operator=(const CudaLane&) = delete;

  std::span<std::byte> source() override { return {static_cast<std::byte*>(host_source_), source_bytes_}; }
  std::span<const std::byte> target() override { return {static_cast<const std::byte*>(host_target_), target_bytes_}; }

  void upload(std::size_t bytes) override {
    use(device_);
    check(cudaMemcpyAsync(source_, host_source_, bytes, cudaMemcpyHostToDevice, stream_), "uploading");
    if (!counting_) check(cudaMemsetAsync(counters_, 0, sizeof(Counters), stream_), "clearing the counters");
    counting_ = true;
  }

  void cast(const Conversion& conversion, std::size_t source_at, std::size_t target_at, std::size_t count) override {
    if (count == 0) return;
    use(device_);
    const std::size_t blocks = (count + kThreads * kPerThread - 1) / (kThreads * kPerThread);
    const auto grid = static_cast<unsigned>(std::min<std::size_t>(blocks, static_cast<std::size_t>(most_blocks_)));
    kernel_of(conversion)<<<grid, kThreads, 0, stream_>>>(static_cast<const std::byte*>(source_) + source_at,
                                                          static_cast<std::byte*>(target_) + target_at, count,
                                                          static_cast<Counters*>(counters_));
    check(cudaGetLastError(), "starting a kernel");
    if (conversion.to != ElemType::float32) stats_.count += count;
  }

  void download(std::size_t bytes) override {
    use(device_);
    check(cudaMemcpyAsync(host_target_, target_, bytes, cudaMemcpyDeviceToHost, stream_), "downloading");
    check(cudaMemcpyAsync(host_counters_, counters_, sizeof(Counters), cudaMemcpyDeviceToHost, stream_), "downloading");
  }

  Stats wait() override {
    use(device_);
    check(cudaStreamSynchronize(stream_), "casting");
    Stats stats = std::exchange(stats_, Stats{});
    if (!std::exchange(counting_, false)) return stats;
    Counters counters;
    std::memcpy(&counters, host_counters_, sizeof counters);
    const auto bits32 = static_cast<std::uint32_t>(counters.largest32);
    float largest32 = 0;
    double largest64 = 0;
    std::memcpy(&largest32, &bits32, sizeof largest32);
    std::memcpy(&largest64, &counters.largest64, sizeof largest64);
    stats.absmax = std::max(static_cast<double>(largest32), largest64);
    stats.nonfinite = counters.nonfinite;
    stats.overflow = counters.overflow;
    stats.underflow = counters.underflow;
    stats.subnormal = counters.subnormal;
    return stats;
  }

 private:
  static void pinned(void*& memory, std::size_t bytes) {
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "allocating pinned memory");
  }

  /// Frees what there is; errors have no one to go to any more.
  void release() noexcept {
    cudaSetDevice(device_);
    if (stream_ != nullptr) {
      cudaStreamSynchronize(stream_);
      cudaStreamDestroy(stream_);
    }
    for (void* memory : {source_, target_, counters_}) cudaFree(memory);
    for (void* memory : {host_source_, host_target_, host_counters_}) cudaFreeHost(memory);
  }

  int device_;
  int most_blocks_;
  std::size_t source_bytes_;
  std::size_t target_bytes_;
  cudaStream_t stream_ = nullptr;
  void* host_source_ = nullptr;
  void* host_target_ = nullptr;
  void* host_counters_ = nullptr;
  void* source_ = nullptr;
  void* target_ = nullptr;
  void* counters_ = nullptr;
  Stats stats_;
  bool counting_ = false;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, index), "asking for a device's properties");
    name_ = properties.name;
    multiprocessors_ = properties.multiProcessorCount;
    use(index_);
    // Makes the context, and finds out whether there is a kernel for this device.
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, cast_kernel<grid::Widening<Fp16, Fp32>>), name_.c_str());
  }

  std::string name() const override { return name_; }
  std::unique_ptr<Lane> open(std::size_t source_bytes, std::size_t target_bytes) override {
    return std::make_unique<CudaLane>(index_, multiprocessors_, source_bytes, target_bytes);
  }

 private:
  int index_;
  std::string name_;
  int multiprocessors_ = 1;
};

}  // namespace

std::vector<std::unique_ptr<Device>> cuda_devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for CUDA devices");
  std::vector<std::unique_ptr<Device>> devices;
  std::string fault = "there is none";
  for (int i = 0; i < count; ++i) {
    try {
      devices.push_back(std::make_unique<CudaDevice>(i));
    } catch (const DeviceError& e) {
      fault = e.what();  // another one may do
    }
  }
  if (devices.empty()) throw DeviceError("looking for CUDA devices: " + fault);
  return devices;
}

}  // namespace ampc::weights
