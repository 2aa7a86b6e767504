#include "ampc/model/tensors.h"

#include <limits>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/model/special_ops.h"

namespace ampc::tensors {
namespace {

template <typename Field>
wire::Bytes field_bytes(const Field& f) {
  return {reinterpret_cast<const std::byte*>(f.data()), static_cast<std::size_t>(f.size()) * sizeof(*f.data())};
}

void in_graph(onnx::GraphProto& g, const std::function<void(onnx::TensorProto&)>& f);

void in_sparse(onnx::SparseTensorProto& s, const std::function<void(onnx::TensorProto&)>& f) {
  f(*s.mutable_values());
  f(*s.mutable_indices());
}

void in_node(onnx::NodeProto& n, const std::function<void(onnx::TensorProto&)>& f) {
  for (auto& a : *n.mutable_attribute()) {
    if (a.has_t()) f(*a.mutable_t());
    for (auto& t : *a.mutable_tensors()) f(t);
    if (a.has_sparse_tensor()) in_sparse(*a.mutable_sparse_tensor(), f);
    for (auto& s : *a.mutable_sparse_tensors()) in_sparse(s, f);
    if (a.has_g()) in_graph(*a.mutable_g(), f);
    for (auto& g : *a.mutable_graphs()) in_graph(g, f);
  }
}

void in_graph(onnx::GraphProto& g, const std::function<void(onnx::TensorProto&)>& f) {
  for (auto& t : *g.mutable_initializer()) f(t);
  for (auto& s : *g.mutable_sparse_initializer()) in_sparse(s, f);
  for (auto& n : *g.mutable_node()) in_node(n, f);
}

}  // namespace

std::optional<std::uint64_t> element_count(const onnx::TensorProto& t) {
  std::uint64_t count = 1;
  for (const std::int64_t d : t.dims()) {
    if (d < 0) return std::nullopt;
    if (d != 0 &&
        count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / static_cast<std::uint64_t>(d)) {
      return std::nullopt;
    }
    count *= static_cast<std::uint64_t>(d);
  }
  return count;
}

std::span<const std::int64_t> dims_of(const Value& v) {
  const auto& dims = v.sparse != nullptr ? v.sparse->dims() : v.weight->dims();
  return {dims.data(), static_cast<std::size_t>(dims.size())};
}

wire::Bytes bytes_of(const Model& m, const onnx::TensorProto& t) {
  if (t.has_raw_data()) {
    const std::string& raw = t.raw_data();
    if (const auto index = wire::marker_index(raw); index && *index < m.payloads.size()) return m.payloads[*index];
    return {reinterpret_cast<const std::byte*>(raw.data()), raw.size()};
  }
  switch (static_cast<ElemType>(t.data_type())) {
    case ElemType::float32:
      return field_bytes(t.float_data());
    case ElemType::float64:
      return field_bytes(t.double_data());
    case ElemType::int32:
      return field_bytes(t.int32_data());
    case ElemType::int64:
      return field_bytes(t.int64_data());
    default:
      return {};
  }
}

std::string fault_of(const Model& m, const onnx::TensorProto& t) {
  const auto count = element_count(t);
  if (!count) return "has a negative dimension, or more elements than fit 63 bits";
  const auto type = static_cast<ElemType>(t.data_type());
  const std::size_t width = byte_size(type);
  if (width == 0) return {};
  const bool known =
      t.has_raw_data() || type == ElemType::float32 || type == ElemType::float64 || type == ElemType::int64;
  if (!known) return {};
  const std::uint64_t have = bytes_of(m, t).size();
  if (have == *count * width) return {};
  return fmt::format("has {} bytes of data where its shape and type ({}) ask for {}", have, short_name(type),
                     *count * width);
}

void for_each(onnx::ModelProto& model, const std::function<void(onnx::TensorProto&)>& f) {
  in_graph(*model.mutable_graph(), f);
  for (auto& fn : *model.mutable_functions()) {
    for (auto& n : *fn.mutable_node()) in_node(n, f);
  }
}

std::uint64_t weight_bytes(const onnx::GraphProto& g) {
  std::uint64_t bytes = 0;
  const auto add = [&](const onnx::TensorProto& t) {
    bytes += element_count(t).value_or(0) * byte_size(static_cast<ElemType>(t.data_type()));
  };
  for (const auto& t : g.initializer()) add(t);
  for (const auto& n : g.node()) {
    for (const auto& a : n.attribute()) {
      if (a.has_t() && special::is_constant(n.domain(), n.op_type())) add(a.t());
      if (a.has_g()) bytes += weight_bytes(a.g());
      for (const auto& body : a.graphs()) bytes += weight_bytes(body);
    }
  }
  return bytes;
}

}  // namespace ampc::tensors
