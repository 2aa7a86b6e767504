#include "ampc/model/shapes.h"

#include <algorithm>
#include <exception>
#include <unordered_map>

#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"

#include "ampc/model/onnx_registry.h"
#include "ampc/model/tensors.h"

namespace ampc {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 36U;  // keeps sums of many in range

class Shapes {
 public:
  explicit Shapes(const Model& m) : m_(m), counts_(m.values.size(), 0) {}

  std::vector<std::uint64_t> run(bool ask) {
    for (ValueId v = 0; v < m_.values.size(); ++v) {
      const Value& value = m_.values[v];
      if (value.weight != nullptr)
        counts_[v] = std::max<std::uint64_t>(1, tensors::element_count(*value.weight).value_or(1));
      if (value.weight == nullptr && value.declared != nullptr) take(v, *value.declared);
    }
    const bool all_known = std::all_of(m_.nodes.begin(), m_.nodes.end(), [&](const Node& n) {
      return std::all_of(m_.results.begin() + n.result_begin, m_.results.begin() + n.result_end,
                         [&](ValueId v) { return v == kNone || counts_[v] != 0 || !m_.values[v].tensor; });
    });
    if (ask && !all_known) infer();
    stand_in(0);
    return std::move(counts_);
  }

 private:
  void take(ValueId v, const onnx::TypeProto& type) {
    if (counts_[v] != 0 || !type.has_tensor_type() || !type.tensor_type().has_shape()) return;
    std::uint64_t count = 1;
    for (const auto& d : type.tensor_type().shape().dim()) {
      const std::uint64_t length =
          d.has_dim_value() ? static_cast<std::uint64_t>(std::max<std::int64_t>(1, d.dim_value())) : kUnknownDimension;
      count = length > kMost / count ? kMost : count * length;
    }
    counts_[v] = count;
  }

  /// onnx's inference over a copy; the bytes of large weights are not in it, and no inference function looks at them.
  void infer() {
    onnx_registry::register_all();  // the inference looks operators up in onnx's registry
    onnx::ModelProto copy = *m_.proto;
    // Calls hold their bodies and no operands any more: onnx must not look for their functions.
    copy.clear_functions();
    std::unordered_map<const onnx::GraphProto*, BlockId> blocks;
    for (BlockId b = 0; b < m_.blocks.size(); ++b) blocks.emplace(m_.blocks[b].graph, b);
    declare(m_.proto->graph(), *copy.mutable_graph(), blocks);
    onnx::ShapeInferenceOptions options;
    options.error_mode = 0;
    options.enable_data_propagation = true;
    try {
      onnx::shape_inference::InferShapes(copy, onnx::OpSchemaRegistry::Instance(), options);
    } catch (const std::exception&) {
      // What was inferred so far stands in the copy.
    }
    read(m_.proto->graph(), copy.graph(), blocks);
  }

  /// Some of onnx's inference functions read the type of an operand that has none: every result gets one.
  void declare(const onnx::GraphProto& original, onnx::GraphProto& copy,
               const std::unordered_map<const onnx::GraphProto*, BlockId>& blocks) const {
    if (const auto b = blocks.find(&original); b != blocks.end()) {
      const Block& block = m_.blocks[b->second];
      for (NodeId n = block.first; n < block.last; ++n) {
        for (const ValueId v : m_.results_of(n)) {
          if (v == kNone || m_.values[v].declared != nullptr || !m_.values[v].tensor) continue;
          const ElemType type = m_.values[v].type == ElemType::undefined ? ElemType::float32 : m_.values[v].type;
          onnx::ValueInfoProto* info = copy.add_value_info();
          info->set_name(std::string(m_.values[v].name));
          info->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(type));
        }
      }
    }
    for (int i = 0; i < original.node_size(); ++i) {
      for (int a = 0; a < original.node(i).attribute_size(); ++a) {
        if (original.node(i).attribute(a).has_g())
          declare(original.node(i).attribute(a).g(), *copy.mutable_node(i)->mutable_attribute(a)->mutable_g(), blocks);
      }
    }
  }

  void read(const onnx::GraphProto& original, const onnx::GraphProto& copy,
            const std::unordered_map<const onnx::GraphProto*, BlockId>& blocks) {
    if (const auto b = blocks.find(&original); b != blocks.end()) {
      const auto take_all = [&](const auto& list) {
        for (const onnx::ValueInfoProto& info : list) {
          const ValueId v = m_.blocks[b->second].names.find(info.name());
          if (v != NameTable::kAbsent) take(v, info.type());
        }
      };
      take_all(copy.value_info());
      take_all(copy.output());
    }
    for (int i = 0; i < std::min(original.node_size(), copy.node_size()); ++i) {
      const auto& attributes = original.node(i).attribute();
      for (int a = 0; a < attributes.size(); ++a) {
        if (attributes[a].has_g()) read(attributes[a].g(), copy.node(i).attribute(a).g(), blocks);
      }
    }
  }

  void stand_in(BlockId b) {
    for (const ValueId v : m_.blocks[b].inputs) known(v, 0);
    for (NodeId n = m_.blocks[b].first; n < m_.blocks[b].last; ++n) {
      for (const BlockId body : m_.bodies_of(n)) stand_in(body);
      std::uint64_t most = 0;
      for (const ValueId v : m_.operands_of(n)) {
        if (v != kNone) most = std::max(most, counts_[v]);
      }
      for (const ValueId v : m_.results_of(n)) {
        if (v != kNone) known(v, most);
      }
    }
  }
  void known(ValueId v, std::uint64_t otherwise) {
    if (counts_[v] == 0) counts_[v] = otherwise != 0 ? otherwise : kUnknownElements;
  }

  const Model& m_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace

std::vector<std::uint64_t> element_counts(const Model& m, bool infer) { return Shapes(m).run(infer); }

}  // namespace ampc
