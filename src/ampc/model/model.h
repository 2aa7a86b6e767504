// A model as the passes see it: blocks of nodes, values with their types, and weights whose bytes stay in the mapped
// file.
//
// Everything is an index into flat arrays. A block is the main graph or the body of a control-flow node; its nodes are
// a contiguous range. The onnx messages behind nodes stay reachable, since attributes are read and the result is
// written through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ampc/diag/diagnostic.h"
#include "ampc/model/elem_type.h"
#include "ampc/model/mapped_file.h"
#include "ampc/model/name_table.h"
#include "ampc/model/schemas.h"
#include "ampc/model/wire.h"

namespace google::protobuf {
class Arena;
}
namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace ampc {

using NodeId = std::uint32_t;
using ValueId = std::uint32_t;
using BlockId = std::uint32_t;
using OpId = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xffffffffU;

enum class ValueKind : std::uint8_t {
  input,        // formal input of its block
  initializer,  // also one that is a graph input too
  result,       // made by a node
};

struct Value {
  std::string_view name;
  BlockId block = 0;
  NodeId producer = kNone;
  std::uint32_t slot = 0;  // which result of the producer
  ValueKind kind = ValueKind::result;
  ElemType type =
      ElemType::undefined;   // of a tensor's elements; undefined where nothing tells, and for what is no dense tensor
  bool tensor = true;        // may be a dense tensor
  bool graph_input = false;  // an initializer that is listed as an input too
  bool block_output = false;
  std::int32_t rank = -1;                           // -1 where nothing tells
  onnx::TensorProto* weight = nullptr;              // the initializer's tensor; also of a Constant node's result
  const onnx::SparseTensorProto* sparse = nullptr;  // whose elements `weight` holds; its shape and indices stay
  const onnx::TypeProto* declared = nullptr;        // from an input, an output or value_info
};

struct Node {
  onnx::NodeProto* proto = nullptr;
  OpId op = 0;
  BlockId block = 0;
  std::uint32_t operand_begin = 0, operand_end = 0;  // into Model::operands
  std::uint32_t result_begin = 0, result_end = 0;    // into Model::results
  std::uint32_t body_begin = 0, body_end = 0;        // into Model::bodies
};

struct Block {
  onnx::GraphProto* graph = nullptr;
  NodeId owner = kNone;  // the node whose attribute it is; kNone for the main graph
  BlockId parent = kNone;
  std::uint32_t depth = 0;
  bool repeats = false;        // a loop's body: it has formal inputs, so it may run many times
  std::uint32_t call = kNone;  // index into Model::calls of the call whose function's body this is
  std::uint32_t imports = 0;   // the opsets that hold here: the model's, or those of a function
  std::string path;            // "main", "main/If_3.then_branch"
  NodeId first = 0, last = 0;  // its nodes
  std::vector<ValueId> inputs, outputs;
  NameTable names;  // its own values
};

/// A call of a model-local function, before its body was put into it (R29).
struct FunctionCall {
  const onnx::NodeProto* original = nullptr;
  const onnx::FunctionProto* function = nullptr;
  std::string prefix;  // of every name in the copy of the body that is not an operand's
};

/// An operator as this model imports it; nodes of the same operator share one.
struct Op {
  std::string_view domain;  // "" is ai.onnx
  std::string_view name;
  int version = 0;                       // of the domain's import; 0 where the model has none
  const Signature* signature = nullptr;  // nullptr for an operator without schema
  bool is_cast = false;
  bool is_constant = false;
  bool is_call = false;  // of a model-local function
};

class Model {
 public:
  Model();
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  std::string path;  // as the user gave it
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<Block> blocks;
  std::vector<Op> ops;
  std::vector<ValueId> operands;  // kNone for an optional operand that is left out
  std::vector<ValueId> results;
  std::vector<BlockId> bodies;
  std::vector<std::string> external_files;  // paths as joined to the model's folder, sorted
  std::vector<FunctionCall> calls;
  bool has_external = false;
  bool rewritten = false;  // the graph is not the file's: its nodes were sorted, or its opset raised

  onnx::ModelProto* proto = nullptr;
  std::vector<wire::Bytes> payloads;  // what markers stand for; into the mapped files
  std::uint64_t file_size = 0;

  std::span<const ValueId> operands_of(NodeId n) const {
    return {operands.data() + nodes[n].operand_begin, operands.data() + nodes[n].operand_end};
  }
  std::span<const ValueId> results_of(NodeId n) const {
    return {results.data() + nodes[n].result_begin, results.data() + nodes[n].result_end};
  }
  std::span<const BlockId> bodies_of(NodeId n) const {
    return {bodies.data() + nodes[n].body_begin, bodies.data() + nodes[n].body_end};
  }
  const Op& op_of(NodeId n) const { return ops[nodes[n].op]; }

  /// The value that `name` means in `block` (its own, else the nearest enclosing block's); kNone where there is none.
  ValueId find(BlockId block, std::string_view name) const;
  /// True where `outer` is `block` or encloses it.
  bool encloses(BlockId outer, BlockId block) const;

  /// "node 'fc1' (MatMul)", or by block and position where the node has no name.
  std::string describe(NodeId n) const;
  /// "model.onnx: node 'fc1' (MatMul)"
  std::string where(NodeId n) const { return path + ": " + describe(n); }

  onnx::AttributeProto* attribute(NodeId n, std::string_view name) const;

  /// Files behind the model that have been written to since they were mapped: what was read of them may be a mixture.
  std::vector<std::string> changed_files() const;

  /// The storage behind `proto` and `payloads`.
  struct Storage;
  std::unique_ptr<Storage> storage;
};

/// Reads a model: IR versions 3 to 13, default opset 7 and up. Reports faults of the file and of the graph (R31); the
/// result is empty when there was one. `domains` hears of the domains of its operators as soon as they are known. An
/// `opset` other than 0 is what the model is brought to first (R5).
std::unique_ptr<Model> read_model(const std::string& path, Diagnostics& diagnostics,
                                  const std::function<void(const std::set<std::string>&)>& domains = {}, int opset = 0);

/// Types of all values, forward through the graph from the schemas' type variables; onnx's own inference functions
/// where those don't suffice. Reports type clashes that the model has already.
void infer_types(Model& model, Diagnostics& diagnostics);

}  // namespace ampc
