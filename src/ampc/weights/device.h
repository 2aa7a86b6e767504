// A device that casts, as the pipeline sees it: queues of uploads, casts and downloads that run beside one another.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ampc/weights/caster.h"

namespace ampc::weights {

/// A device failed: no driver, too little memory, a fault of the hardware. what() says which call and why.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One queue of a device with its buffers. What is queued runs in order, and beside what other lanes have queued. Every
/// call may throw DeviceError; after that the lane is good for nothing but being destroyed, which waits for what is
/// still running. One thread at a time.
class Lane {
 public:
  static constexpr std::size_t kMostCasts = 64;
  virtual ~Lane() = default;
  /// Host memory that `upload` reads and `download` writes; not to be touched between that call and the next `wait`.
  virtual std::span<std::byte> source() = 0;
  virtual std::span<const std::byte> target() = 0;

  /// Queues a copy of the first `bytes` of `source` to the device, of the results back into `target`.
  virtual void upload(std::size_t bytes) = 0;
  virtual void download(std::size_t bytes) = 0;
  /// Queues a cast of `count` elements, fewer than 2^32, that begin at byte `source_at` of what was uploaded; the
  /// results begin at byte `target_at`. Bit for bit what a Caster does. Neither place needs alignment.
  /// At most kMostCasts between two waits.
  virtual void cast(const Conversion& conversion, std::size_t source_at, std::size_t target_at, std::size_t count) = 0;
  /// Until all that was queued has been done. Gives what each cast since the last `wait` saw, in their order, as
  /// Caster::measure counts; zeroes for casts to fp32, which lose nothing.
  virtual std::vector<Stats> wait() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  /// A lane with host and device buffers of these sizes. Safe from several threads. Throws DeviceError.
  virtual std::unique_ptr<Lane> open(std::size_t source_bytes, std::size_t target_bytes) = 0;
};

/// The CUDA devices of this machine that the program has kernels for; touches the driver. Throws DeviceError where
/// there are none, or where the program was built without CUDA.
std::vector<std::unique_ptr<Device>> cuda_devices();

}  // namespace ampc::weights
