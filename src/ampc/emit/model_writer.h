// The output file: its layout is known before a byte is written, then parallel tasks cast and copy straight into place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ampc/emit/output_file.h"
#include "ampc/emit/weight_jobs.h"
#include "ampc/weights/cast_router.h"

namespace ampc::emit {

/// A single file of ONNX is one protobuf message, and that ends here.
inline constexpr std::uint64_t kLargestFile = 0x7fffffff;

/// Bytes of the model that would be written, and the serialised skeleton they are made of.
struct Image {
  std::string skeleton;
  wire::Layout layout;
};
Image image_of(const Model& m, const WeightJobs& jobs);
/// The same for a message whose payloads will have the sizes that `size_of` tells.
Image image_of(const onnx::ModelProto& model, const std::function<std::uint64_t(std::uint64_t)>& size_of);
/// The message as bytes, the same for each run.
std::string skeleton_of(const onnx::ModelProto& model);

/// Writes `image` into `file`; `router` says who casts, `progress` is told of bytes as they are done, from any thread.
/// Throws IoError.
void write_image(const Image& image, const WeightJobs& jobs, OutputFile& file, weights::CastRouter& router,
                 const std::function<void(std::uint64_t)>& progress);

/// Puts every payload into the messages of `m` themselves, for printing.
void materialise(Model& m, const WeightJobs& jobs);

}  // namespace ampc::emit
