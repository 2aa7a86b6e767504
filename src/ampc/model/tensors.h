// Tensors of a model: their bytes, wherever these lie.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "ampc/model/model.h"

namespace ampc::tensors {

/// Product of the dimensions; nothing on a negative one or past 2^63.
std::optional<std::uint64_t> element_count(const onnx::TensorProto& t);

/// Dimensions of a value that is a weight; of a sparse one those of the whole tensor.
std::span<const std::int64_t> dims_of(const Value& v);

/// The elements as the machine lays them out (little-endian), from raw_data, the mapped file or the field of the type.
/// Empty where the form is none of these (strings, 16-bit values in int32_data).
wire::Bytes bytes_of(const Model& m, const onnx::TensorProto& t);

/// What is wrong with the tensor's storage, as the rest of a sentence; empty when nothing is.
std::string fault_of(const Model& m, const onnx::TensorProto& t);

/// Calls `f` with every tensor of a model: initializers (sparse ones' values and indices too) and attributes, in
/// functions and bodies too.
void for_each(onnx::ModelProto& model, const std::function<void(onnx::TensorProto&)>& f);

/// Bytes that weights of a graph and its bodies take up, for the summary: initializers and Constant nodes.
std::uint64_t weight_bytes(const onnx::GraphProto& g);

}  // namespace ampc::tensors
