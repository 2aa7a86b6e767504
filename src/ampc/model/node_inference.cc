#include "ampc/model/node_inference.h"

#include <exception>
#include <memory>

#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

#include "ampc/model/onnx_registry.h"
#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"

namespace ampc {
namespace {

class Context final : public onnx::InferenceContext {
 public:
  Context(const Model& m, NodeId n, const onnx::NodeProto& proto, const std::function<ElemType(ValueId)>& type_of)
      : proto_(proto) {
    const auto operands = m.operands_of(n);
    inputs_.resize(operands.size());
    given_.resize(operands.size());
    data_.resize(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == kNone) continue;
      const Value& v = m.values[operands[i]];
      const ElemType type = type_of(operands[i]);
      if (v.declared != nullptr) inputs_[i] = *v.declared;
      if (v.tensor && type != ElemType::undefined) {
        inputs_[i].mutable_tensor_type()->set_elem_type(static_cast<int>(type));
        if (v.weight != nullptr) {
          auto* shape = inputs_[i].mutable_tensor_type()->mutable_shape();
          shape->clear_dim();
          for (const auto d : tensors::dims_of(v)) shape->add_dim()->set_dim_value(d);
        }
      }
      // An operand of unknown type gets an empty type: some inference functions read through the pointer unasked.
      given_[i] = true;
      // A weight whose bytes were left in the file is no shape or axis that an inference function would look at.
      if (v.weight != nullptr && v.sparse == nullptr && !wire::marker_index(v.weight->raw_data())) data_[i] = v.weight;
    }
    outputs_.resize(static_cast<std::size_t>(proto.output_size()));
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    for (const auto& a : proto_.attribute()) {
      if (a.name() == name) return &a;
    }
    return nullptr;
  }
  std::size_t getNumInputs() const override { return inputs_.size(); }
  const onnx::TypeProto* getInputType(std::size_t i) const override {
    return i < inputs_.size() && given_[i] ? &inputs_[i] : nullptr;
  }
  const onnx::TensorProto* getInputData(std::size_t i) const override { return i < data_.size() ? data_[i] : nullptr; }
  const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(std::size_t) const override { return nullptr; }
  std::size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(std::size_t i) override { return i < outputs_.size() ? &outputs_[i] : nullptr; }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override { return nullptr; }

  std::vector<onnx::TypeProto>& outputs() { return outputs_; }

 private:
  const onnx::NodeProto& proto_;
  std::vector<onnx::TypeProto> inputs_;
  std::vector<bool> given_;
  std::vector<const onnx::TensorProto*> data_;
  std::vector<onnx::TypeProto> outputs_;
};

}  // namespace

std::vector<InferredType> infer_node(const Model& m, NodeId n, const onnx::NodeProto& proto,
                                     const std::function<ElemType(ValueId)>& type_of) {
  std::vector<InferredType> types(static_cast<std::size_t>(proto.output_size()));
  const Signature* s = m.op_of(n).signature;
  const onnx::OpSchema* schema = s == nullptr || s->is_declared() ? nullptr : onnx_registry::find(*s);
  if (schema == nullptr || !schema->has_type_and_shape_inference_function()) return types;
  Context context(m, n, proto, type_of);
  try {
    schema->GetTypeAndShapeInferenceFunction()(context);
  } catch (const std::exception&) {
    // The element type is set first by most functions; what they then found wrong with a shape is no matter here.
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const onnx::TypeProto& t = context.outputs()[i];
    if (t.has_tensor_type()) {
      types[i].type = static_cast<ElemType>(t.tensor_type().elem_type());
      if (t.tensor_type().has_shape()) types[i].rank = t.tensor_type().shape().dim_size();
    } else if (t.value_case() != onnx::TypeProto::VALUE_NOT_SET) {
      types[i].tensor = false;
      auto* kept = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(&m.storage->arena);
      *kept = t;
      types[i].full = kept;
    }
  }
  return types;
}

}  // namespace ampc
