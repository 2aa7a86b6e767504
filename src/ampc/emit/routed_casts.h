// The casts of an output file that may run on a device.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ampc/emit/output_file.h"
#include "ampc/emit/weight_jobs.h"
#include "ampc/weights/cast_router.h"

namespace ampc::emit {

class RoutedCasts final : weights::CastWork {
 public:
  /// `progress` may be empty; it is told of bytes of output, from any thread.
  RoutedCasts(const WeightJobs& jobs, weights::CastRouter& router, OutputFile& file,
              const std::function<void(std::uint64_t)>& progress)
      : jobs_(jobs), router_(router), file_(file), progress_(progress) {}

  /// Whether the router is to have that job: a cast that is worth a way to a device, where one may be used.
  bool takes(std::uint64_t job) const;
  /// The job's result goes to `offset` in the file.
  void add(std::uint64_t job, std::uint64_t offset);
  /// Casts and writes all that were added. Throws IoError.
  void run();

 private:
  /// Bytes [begin, begin + size) of a job's result, where they go, and where in the source they come from.
  struct Part {
    std::uint64_t job = 0, begin = 0, size = 0, offset = 0, source = 0;
  };

  void load(std::size_t id, std::span<std::byte> source) override;
  void store(std::size_t id, std::span<const std::byte> result, const weights::Stats& stats) override;
  void on_cpu(std::size_t id) override;

  const WeightJobs& jobs_;
  weights::CastRouter& router_;
  OutputFile& file_;
  const std::function<void(std::uint64_t)>& progress_;
  std::vector<Part> parts_;
  std::vector<weights::DeviceTask> tasks_;  // one of each part
};

}  // namespace ampc::emit
