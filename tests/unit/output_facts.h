// What golden cases show of a compiled model beside its text: the casts that were added and the weights that were
// changed.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ampc/model/elem_type.h"
#include "ampc/weights/caster.h"

namespace ampc::golden {

/// Calls `visit(graph, path)` for a graph and all graphs nested in it, outermost first. Paths read
/// "main/If_3.then_branch": a node goes by its name, or by its operator and its position.
template <typename Visit>
void each_graph(const onnx::GraphProto& graph, const std::string& path, const Visit& visit) {
  visit(graph, path);
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    const std::string name = node.name().empty() ? fmt::format("{}_{}", node.op_type(), i) : node.name();
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.has_g()) each_graph(attribute.g(), fmt::format("{}/{}.{}", path, name, attribute.name()), visit);
  }
}

inline std::string type_name(std::int64_t type) { return std::string(short_name(static_cast<ElemType>(type))); }

/// Casts of `after` that `before` has not got, one a line with their metadata: "main: x -> x.cast_fp16 fp16".
inline std::string added_casts(const onnx::ModelProto& before, const onnx::ModelProto& after) {
  std::set<std::string> known;
  each_graph(before.graph(), "main", [&](const onnx::GraphProto& graph, const std::string&) {
    for (const onnx::NodeProto& node : graph.node())
      if (node.op_type() == "Cast") known.insert(node.output(0));
  });
  std::string text;
  each_graph(after.graph(), "main", [&](const onnx::GraphProto& graph, const std::string& path) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() != "Cast" || known.contains(node.output(0))) continue;
      for (const onnx::AttributeProto& attribute : node.attribute())
        if (attribute.name() == "to")
          text += fmt::format("{}: {} -> {} {}", path, node.input(0), node.output(0), type_name(attribute.i()));
      for (const onnx::StringStringEntryProto& entry : node.metadata_props())
        text += fmt::format(" {}={}", entry.key(), entry.value());
      text += "\n";
    }
  });
  return text;
}

/// Elements of a tensor of fp32, fp16 or bf16; empty for other types and for external data.
inline std::vector<float> floats(const onnx::TensorProto& tensor) {
  std::vector<float> list;
  const auto type = static_cast<ElemType>(tensor.data_type());
  const std::string& raw = tensor.raw_data();
  if (type == ElemType::float32) {
    list.assign(tensor.float_data().begin(), tensor.float_data().end());
    for (std::size_t i = 0; i + sizeof(float) <= raw.size(); i += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, raw.data() + i, sizeof value);
      list.push_back(value);
    }
  } else if (is_low(type)) {
    const auto widen = [type](std::uint16_t bits) {
      return type == ElemType::float16 ? weights::from_fp16(bits) : weights::from_bf16(bits);
    };
    for (const std::int32_t bits : tensor.int32_data()) list.push_back(widen(static_cast<std::uint16_t>(bits)));
    for (std::size_t i = 0; i + sizeof(std::uint16_t) <= raw.size(); i += sizeof(std::uint16_t)) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, raw.data() + i, sizeof bits);
      list.push_back(widen(bits));
    }
  }
  return list;
}

/// Initializers and Constants of floating point, one a line: "main: w fp16 [2,3]", with the values where there are no
/// more than eight.
inline std::string float_weights(const onnx::ModelProto& model) {
  std::string text;
  const auto add = [&text](const std::string& path, const std::string& name, const onnx::TensorProto& tensor) {
    const auto type = static_cast<ElemType>(tensor.data_type());
    if (!is_low(type) && type != ElemType::float32 && type != ElemType::float64) return;
    text += fmt::format("{}: {} {} [{}]", path, name, type_name(tensor.data_type()), fmt::join(tensor.dims(), ","));
    const std::vector<float> values = floats(tensor);
    if (!values.empty() && values.size() <= 8) text += fmt::format(" = {}", fmt::join(values, " "));
    text += "\n";
  };
  each_graph(model.graph(), "main", [&](const onnx::GraphProto& graph, const std::string& path) {
    for (const onnx::TensorProto& tensor : graph.initializer()) add(path, tensor.name(), tensor);
    for (const onnx::NodeProto& node : graph.node())
      for (const onnx::AttributeProto& attribute : node.attribute())
        if (node.op_type() == "Constant" && attribute.has_t()) add(path, node.output(0), attribute.t());
  });
  return text;
}

}  // namespace ampc::golden
