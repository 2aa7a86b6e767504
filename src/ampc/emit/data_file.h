// The output's weights in a file of their own, beside the model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ampc/emit/output_file.h"
#include "ampc/emit/weight_jobs.h"
#include "ampc/weights/cast_router.h"

namespace ampc::emit {

/// Weights of fewer bytes stay in the model: onnx's own tools draw the line here too (onnx.save_model).
inline constexpr std::uint64_t kDataThreshold = 1024;

/// Which payload goes where in the data file.
struct DataLayout {
  struct Piece {
    std::uint64_t job = 0, offset = 0, size = 0;
  };
  std::vector<Piece> pieces;
  std::uint64_t size = 0;
};

/// Makes the tensors of at least `threshold` bytes point into `location`, a file in the model's folder. Weights that
/// share their bytes share a place; those of a page and more begin on one, so that runtimes can map them.
DataLayout externalise(Model& m, const WeightJobs& jobs, const std::string& location, std::uint64_t threshold);

/// Gives the data file another name.
void relocate(onnx::ModelProto& model, const std::string& from, const std::string& to);

/// `router` says who casts. Throws IoError.
void write_data(const DataLayout& layout, const WeightJobs& jobs, OutputFile& file, weights::CastRouter& router,
                const std::function<void(std::uint64_t)>& progress);

}  // namespace ampc::emit
