// CUDA devices: a stream, pinned host buffers and device buffers make a lane.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "ampc/weights/cuda/cuda_kernels.h"
#include "ampc/weights/device.h"

namespace ampc::weights {
namespace {

using cuda::Counters;

void check(cudaError_t code, const std::string& what) {
  if (code == cudaSuccess) return;
  (void)cudaGetLastError();  // or the next launch would be blamed for it
  throw DeviceError(what + ": " + cudaGetErrorString(code));
}

/// The current device is the thread's, so that every call sets it.
void use(int device) { check(cudaSetDevice(device), "choosing a device"); }

constexpr std::size_t kCountersBytes = Lane::kMostCasts * sizeof(Counters);

Stats stats_of(const Counters& counters, std::size_t count) {
  const auto bits32 = static_cast<std::uint32_t>(counters.largest32);
  float largest32 = 0;
  double largest64 = 0;
  std::memcpy(&largest32, &bits32, sizeof largest32);
  std::memcpy(&largest64, &counters.largest64, sizeof largest64);
  Stats stats;
  stats.absmax = std::max(static_cast<double>(largest32), largest64);
  stats.count = count;
  stats.nonfinite = counters.nonfinite;
  stats.overflow = counters.overflow;
  stats.underflow = counters.underflow;
  stats.subnormal = counters.subnormal;
  return stats;
}

class CudaLane final : public Lane {
 public:
  CudaLane(int device, unsigned most_blocks, std::size_t source_bytes, std::size_t target_bytes)
      : device_(device), most_blocks_(most_blocks), source_bytes_(source_bytes), target_bytes_(target_bytes) {
    try {
      use(device_);
      check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
      pinned(host_source_, source_bytes);
      pinned(host_target_, target_bytes);
      pinned(host_counters_, kCountersBytes);
      on_device(source_, source_bytes);
      on_device(target_, target_bytes);
      on_device(counters_, kCountersBytes);
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
  }

  void cast(const Conversion& conversion, std::size_t source_at, std::size_t target_at, std::size_t count) override {
    use(device_);
    if (casts_.size() == kMostCasts) throw DeviceError("more casts in one go than a lane counts");
    if (casts_.empty()) check(cudaMemsetAsync(counters_, 0, kCountersBytes, stream_), "clearing the counters");
    check(cuda::launch(conversion, static_cast<const std::byte*>(source_) + source_at,
                       static_cast<std::byte*>(target_) + target_at, count,
                       static_cast<Counters*>(counters_) + casts_.size(), most_blocks_, stream_),
          "starting a kernel");
    casts_.push_back(conversion.to == ElemType::float32 ? 0 : count);
    fetched_ = false;
  }

  void download(std::size_t bytes) override {
    use(device_);
    check(cudaMemcpyAsync(host_target_, target_, bytes, cudaMemcpyDeviceToHost, stream_), "downloading");
    fetch();
  }

  std::vector<Stats> wait() override {
    use(device_);
    fetch();
    check(cudaStreamSynchronize(stream_), "casting");
    std::vector<Stats> stats;
    for (std::size_t i = 0; i < casts_.size(); ++i) {
      Counters counters;
      std::memcpy(&counters, static_cast<const Counters*>(host_counters_) + i, sizeof counters);
      stats.push_back(stats_of(counters, casts_[i]));
    }
    casts_.clear();
    return stats;
  }

 private:
  static void pinned(void*& memory, std::size_t bytes) {
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "allocating pinned memory");
  }
  static void on_device(void*& memory, std::size_t bytes) {
    check(cudaMalloc(&memory, bytes), "allocating device memory");
  }

  /// Queues a copy of the counters where there is something new in them.
  void fetch() {
    if (casts_.empty() || std::exchange(fetched_, true)) return;
    check(cudaMemcpyAsync(host_counters_, counters_, casts_.size() * sizeof(Counters), cudaMemcpyDeviceToHost, stream_),
          "downloading the counters");
  }

  /// Frees what there is, once nothing uses it any more. Errors have no one to go to.
  void release() noexcept {
    (void)cudaSetDevice(device_);
    if (stream_ != nullptr) {
      (void)cudaStreamSynchronize(stream_);
      (void)cudaStreamDestroy(stream_);
    }
    for (void* memory : {source_, target_, counters_}) (void)cudaFree(memory);
    for (void* memory : {host_source_, host_target_, host_counters_}) (void)cudaFreeHost(memory);
    (void)cudaGetLastError();
  }

  int device_;
  unsigned most_blocks_;
  std::size_t source_bytes_;
  std::size_t target_bytes_;
  cudaStream_t stream_ = nullptr;
  void* host_source_ = nullptr;
  void* host_target_ = nullptr;
  void* host_counters_ = nullptr;
  void* source_ = nullptr;
  void* target_ = nullptr;
  void* counters_ = nullptr;
  std::vector<std::size_t> casts_;  // since the last wait: elements that each counts
  bool fetched_ = false;            // what they have come to is on its way
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, index), "asking for a device's properties");
    name_ = properties.name;
    most_blocks_ = static_cast<unsigned>(properties.multiProcessorCount) * cuda::kBlocksPerMultiprocessor;
    use(index_);
    check(cuda::prepare(), name_);
  }

  std::string name() const override { return name_; }
  std::unique_ptr<Lane> open(std::size_t source_bytes, std::size_t target_bytes) override {
    return std::make_unique<CudaLane>(index_, most_blocks_, source_bytes, target_bytes);
  }

 private:
  int index_;
  std::string name_;
  unsigned most_blocks_ = 1;
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
