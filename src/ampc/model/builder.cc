#include "ampc/model/builder.h"

#include <set>

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/model/domain.h"
#include "ampc/model/functions.h"
#include "ampc/model/special_ops.h"
#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"
#include "ampc/model/topology.h"

namespace ampc {
namespace {

/// Builds the arrays from the parsed message.
class Builder {
 public:
  Builder(Model& model, Diagnostics& diagnostics) : m_(model), diagnostics_(diagnostics) {}

  bool run() {
    imports_of(m_.proto->opset_import());
    m_.blocks.emplace_back();
    m_.blocks[0].graph = m_.proto->mutable_graph();
    m_.blocks[0].path = "main";
    // Breadth first, so that a block's nodes are one range; a body is looked at after the block that owns it is known.
    for (BlockId b = 0; b < m_.blocks.size(); ++b) {
      if (!define(b)) return false;
    }
    for (BlockId b = 0; b < m_.blocks.size(); ++b) resolve(b);
    for (BlockId b : unsorted_) report_order(b);
    return !diagnostics_.failed();
  }

  /// Nodes stood before what they read and were put in order: the arrays are to be built again.
  bool sorted_any() const { return sorted_any_; }

 private:
  ValueId add_value(BlockId b, std::string_view name, ValueKind kind) {
    const auto id = static_cast<ValueId>(m_.values.size());
    const ValueId known = m_.blocks[b].names.insert(name, id);
    if (known != id) return known;
    Value v;
    v.name = name;
    v.block = b;
    v.kind = kind;
    m_.values.push_back(v);
    return id;
  }

  std::string in_block(BlockId b) const {
    return b == 0 ? m_.path : fmt::format("{}: block '{}'", m_.path, m_.blocks[b].path);
  }

  bool define(BlockId b) {
    onnx::GraphProto& g = *m_.blocks[b].graph;
    m_.blocks[b].names.reserve(static_cast<std::size_t>(g.input_size() + g.initializer_size() + g.node_size()) * 5 / 4);
    for (auto& input : *g.mutable_input()) {
      const auto before = m_.values.size();
      const ValueId v = add_value(b, input.name(), ValueKind::input);
      if (v != before) duplicate(b, input.name(), "is an input of the graph twice");
      declare(v, input);
      m_.blocks[b].inputs.push_back(v);
    }
    for (auto& t : *g.mutable_initializer()) add_weight(b, t.name(), &t);
    for (auto& s : *g.mutable_sparse_initializer()) add_sparse(b, s);
    m_.blocks[b].first = static_cast<NodeId>(m_.nodes.size());
    for (int i = 0; i < g.node_size(); ++i) define_node(b, *g.mutable_node(i), i);
    m_.blocks[b].last = static_cast<NodeId>(m_.nodes.size());
    for (const auto& info : g.value_info()) {
      if (const ValueId v = m_.blocks[b].names.find(info.name()); v != kNone) declare(v, info);
    }
    return !diagnostics_.failed();
  }

  void declare(ValueId v, const onnx::ValueInfoProto& info) {
    if (!info.has_type() || info.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) return;
    Value& value = m_.values[v];
    value.declared = &info.type();
    if (info.type().has_tensor_type()) {
      value.type = static_cast<ElemType>(info.type().tensor_type().elem_type());
      if (info.type().tensor_type().has_shape()) value.rank = info.type().tensor_type().shape().dim_size();
    } else if (info.type().value_case() != onnx::TypeProto::VALUE_NOT_SET) {
      value.tensor = false;
      value.type = ElemType::undefined;
    }
  }

  void add_weight(BlockId b, std::string_view name, onnx::TensorProto* t) {
    const auto before = m_.values.size();
    const ValueId v = add_value(b, name, ValueKind::initializer);
    Value& value = m_.values[v];
    if (v != before) {
      if (value.kind != ValueKind::input) duplicate(b, name, "is an initializer twice");
      value.graph_input = true;
      value.kind = ValueKind::initializer;
    }
    value.weight = t;
    value.type = static_cast<ElemType>(t->data_type());
    value.rank = t->dims_size();
    if (const std::string fault = tensors::fault_of(m_, *t); !fault.empty()) {
      diagnostics_.error(codes::kBadTensor, fmt::format("initializer '{}' {}", name, fault)).in(in_block(b));
    }
  }

  /// Where it is read it is a tensor like any other: the elements that it stores may be cast, its indices stay.
  void add_sparse(BlockId b, onnx::SparseTensorProto& s) {
    const ValueId v = add_value(b, s.values().name(), ValueKind::initializer);
    define_sparse(m_.values[v], s);
    if (const std::string fault = tensors::fault_of(m_, s.values()); !fault.empty()) {
      diagnostics_.error(codes::kBadTensor, fmt::format("sparse initializer '{}' {}", s.values().name(), fault))
          .in(in_block(b));
    }
  }

  static void define_sparse(Value& value, onnx::SparseTensorProto& s) {
    value.weight = s.mutable_values();
    value.sparse = &s;
    value.type = static_cast<ElemType>(s.values().data_type());
    value.rank = s.dims_size();
  }

  void duplicate(BlockId b, std::string_view name, std::string_view what) {
    diagnostics_.error(codes::kTwoProducers, fmt::format("value '{}' {}", name, what))
        .in(in_block(b))
        .fix("every value of a graph needs a name of its own; export the model again, or rename one of the two");
  }

  /// ONNX is in static single assignment form over a graph and its bodies: a body must not make what it can see
  /// already.
  bool hidden_by_outer(BlockId b, std::string_view name) const {
    for (NodeId owner = m_.blocks[b].owner; owner != kNone; owner = m_.blocks[b].owner) {
      b = m_.blocks[b].parent;
      const ValueId v = m_.blocks[b].names.find(name);
      if (v != NameTable::kAbsent && (m_.values[v].producer == kNone || m_.values[v].producer < owner)) return true;
    }
    return false;
  }

  void define_node(BlockId b, onnx::NodeProto& proto, int position) {
    const auto id = static_cast<NodeId>(m_.nodes.size());
    m_.nodes.emplace_back();
    Node& n = m_.nodes.back();
    n.proto = &proto;
    n.block = b;
    n.op = op_of(proto, b);
    n.result_begin = static_cast<std::uint32_t>(m_.results.size());
    for (int slot = 0; slot < proto.output_size(); ++slot) {
      const std::string& name = proto.output(slot);
      if (name.empty()) {
        m_.results.push_back(kNone);
        continue;
      }
      const auto before = m_.values.size();
      const ValueId v = add_value(b, name, ValueKind::result);
      if (v == before && hidden_by_outer(b, name)) {
        duplicate(b, name, fmt::format("is made by {} and in an enclosing graph too", m_.describe(id)));
      }
      if (v != before) {
        const Value& other = m_.values[v];
        duplicate(b, name,
                  other.producer != kNone
                      ? fmt::format("has two producers, {} and {}", m_.describe(other.producer), m_.describe(id))
                      : fmt::format("is made by {} and is an {} of the graph too", m_.describe(id),
                                    other.kind == ValueKind::input ? "input" : "initializer"));
      } else {
        m_.values[v].producer = id;
        m_.values[v].slot = static_cast<std::uint32_t>(slot);
      }
      m_.results.push_back(v);
    }
    n.result_end = static_cast<std::uint32_t>(m_.results.size());
    n.body_begin = static_cast<std::uint32_t>(m_.bodies.size());
    for (auto& a : *proto.mutable_attribute()) {
      if (a.type() == onnx::AttributeProto::GRAPH || a.has_g()) add_body(id, b, position, a.name(), a.mutable_g());
      for (int i = 0; i < a.graphs_size(); ++i) {
        add_body(id, b, position, fmt::format("{}[{}]", a.name(), i), a.mutable_graphs(i));
      }
    }
    m_.nodes[id].body_end = static_cast<std::uint32_t>(m_.bodies.size());
    if (m_.ops[m_.nodes[id].op].is_constant && m_.nodes[id].result_end != m_.nodes[id].result_begin)
      define_constant(id);
  }

  /// A Constant's value as a tensor, in whichever attribute it stands; strings are left to inference.
  void define_constant(NodeId id) {
    const ValueId v = m_.results[m_.nodes[id].result_begin];
    if (v == kNone) return;
    if (auto* a = m_.attribute(id, "sparse_value"); a != nullptr && a->has_sparse_tensor()) {
      define_sparse(m_.values[v], *a->mutable_sparse_tensor());
      return;
    }
    onnx::TensorProto* t = nullptr;
    if (auto* a = m_.attribute(id, "value"); a != nullptr && a->has_t()) {
      t = a->mutable_t();
    } else if (a = m_.attribute(id, "value_float"); a != nullptr) {
      t = made_tensor(onnx::TensorProto::FLOAT);
      t->add_float_data(a->f());
    } else if (a = m_.attribute(id, "value_floats"); a != nullptr) {
      t = made_tensor(onnx::TensorProto::FLOAT);
      *t->mutable_float_data() = a->floats();
      t->add_dims(a->floats_size());
    } else if (a = m_.attribute(id, "value_int"); a != nullptr) {
      t = made_tensor(onnx::TensorProto::INT64);
      t->add_int64_data(a->i());
    } else if (a = m_.attribute(id, "value_ints"); a != nullptr) {
      t = made_tensor(onnx::TensorProto::INT64);
      *t->mutable_int64_data() = a->ints();
      t->add_dims(a->ints_size());
    }
    if (t == nullptr) return;
    m_.values[v].weight = t;
    m_.values[v].type = static_cast<ElemType>(t->data_type());
    m_.values[v].rank = t->dims_size();
    if (const std::string fault = tensors::fault_of(m_, *t); !fault.empty()) {
      diagnostics_.error(codes::kBadTensor, "the node's value " + fault).in(m_.where(id));
    }
  }

  onnx::TensorProto* made_tensor(onnx::TensorProto::DataType type) {
    auto* t = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(&m_.storage->arena);
    t->set_data_type(type);
    return t;
  }

  void add_body(NodeId owner, BlockId parent, int position, std::string_view attribute, onnx::GraphProto* g) {
    const auto id = static_cast<BlockId>(m_.blocks.size());
    m_.blocks.emplace_back();
    Block& body = m_.blocks.back();
    body.graph = g;
    body.owner = owner;
    body.parent = parent;
    body.depth = m_.blocks[parent].depth + 1;
    body.repeats = g->input_size() != 0;
    body.imports = m_.blocks[parent].imports;
    if (m_.ops[m_.nodes[owner].op].is_call) {
      body.call = static_cast<std::uint32_t>(functions::body_attribute(*m_.nodes[owner].proto)->i());
      const onnx::FunctionProto* f = m_.calls[body.call].function;
      const auto [known, fresh] = imports_by_function_.try_emplace(f, 0);
      if (fresh) known->second = imports_of(f->opset_import());
      body.imports = known->second;
    }
    body.path =
        fmt::format("{}/{}_{}.{}", m_.blocks[parent].path, m_.nodes[owner].proto->op_type(), position, attribute);
    m_.bodies.push_back(id);
  }

  /// Notes which versions of its domains a model or a function imports, and gives the position in `versions_`.
  template <typename Imports>
  std::uint32_t imports_of(const Imports& list) {
    auto& versions = versions_.emplace_back();
    for (const auto& import : list) versions.emplace(canonical(import.domain()), static_cast<int>(import.version()));
    return static_cast<std::uint32_t>(versions_.size() - 1);
  }

  OpId op_of(const onnx::NodeProto& proto, BlockId b) {
    const std::string_view domain = canonical(proto.domain());
    const bool call = functions::body_attribute(proto) != nullptr;
    key_.assign(domain);
    key_ += '\0';
    key_ += proto.op_type();
    if (call) key_ += '\1';
    if (const std::uint32_t imports = m_.blocks[b].imports; imports != 0) key_ += '\2' + std::to_string(imports);
    if (const auto known = op_ids_.find(key_); known != op_ids_.end()) return known->second;
    Op op;
    op.domain = domain;
    op.name = proto.op_type();
    op.is_call = call;
    const auto& versions = versions_[m_.blocks[b].imports];
    if (const auto v = versions.find(domain); v != versions.end()) op.version = v->second;
    if (!call) op.signature = Schemas::get().find(domain, op.name, op.version);
    op.is_cast = special::is_cast(op.domain, op.name);
    op.is_constant = special::is_constant(op.domain, op.name);
    const auto id = static_cast<OpId>(m_.ops.size());
    m_.ops.push_back(op);
    op_ids_.emplace(key_, id);
    return id;
  }

  void resolve(BlockId b) {
    for (NodeId id = m_.blocks[b].first; id < m_.blocks[b].last; ++id) {
      const onnx::NodeProto& proto = *m_.nodes[id].proto;
      m_.nodes[id].operand_begin = static_cast<std::uint32_t>(m_.operands.size());
      for (const std::string& name : proto.input()) {
        if (name.empty()) {
          m_.operands.push_back(kNone);
          continue;
        }
        const ValueId v = m_.find(b, name);
        if (v == kNone) {
          dangling(b, name, m_.describe(id) + " reads");
        } else if (!before(v, id)) {
          unsorted_.insert(m_.values[v].block);
        }
        m_.operands.push_back(v);
      }
      m_.nodes[id].operand_end = static_cast<std::uint32_t>(m_.operands.size());
    }
    for (const auto& output : m_.blocks[b].graph->output()) {
      const ValueId v = m_.find(b, output.name());
      if (v == kNone) {
        dangling(b, output.name(), "the graph's output list names");
        continue;
      }
      if (m_.values[v].block == b) {
        if (m_.values[v].type == ElemType::undefined || m_.values[v].rank < 0) declare(v, output);
        m_.values[v].block_output = true;
      }
      m_.blocks[b].outputs.push_back(v);
    }
  }

  /// Whether `v` is there when `reader` runs.
  bool before(ValueId v, NodeId reader) const {
    const NodeId producer = m_.values[v].producer;
    if (producer == kNone) return true;
    // A value of an enclosing block must come before the node that owns the reader's block.
    while (m_.nodes[reader].block != m_.values[v].block) reader = m_.blocks[m_.nodes[reader].block].owner;
    return producer < reader;
  }

  void dangling(BlockId b, std::string_view name, std::string_view who) {
    auto& d =
        diagnostics_.error(codes::kDangling, fmt::format("{} '{}', which nothing makes", who, name)).in(in_block(b));
    std::vector<std::string_view> names;
    if (m_.values.size() < 20000) {
      for (const Value& v : m_.values) names.push_back(v.name);
    }
    if (const auto near = nearest(name, names)) d.fix(fmt::format("did you mean '{}'?", *near));
  }

  void report_order(BlockId b) {
    const auto order = topology::order_of(m_, b);
    if (order.cycle.empty()) {
      topology::reorder(m_, b, order.nodes);
      sorted_any_ = true;
      diagnostics_.warning(codes::kUnsorted, "the nodes are not in topological order, as ONNX asks; they are sorted")
          .in(in_block(b));
      return;
    }
    std::string names;
    for (const NodeId n : order.cycle) names += (names.empty() ? "" : " -> ") + m_.describe(n);
    diagnostics_.error(codes::kCycle, fmt::format("nodes need one another's results: {}", names))
        .in(in_block(b))
        .fix("a graph must have no cycle; a value that is carried round belongs in a Loop");
  }

  Model& m_;
  Diagnostics& diagnostics_;
  std::vector<std::unordered_map<std::string_view, int>> versions_;  // by Block::imports
  std::unordered_map<const onnx::FunctionProto*, std::uint32_t> imports_by_function_;
  std::unordered_map<std::string, OpId> op_ids_;
  std::string key_;
  std::set<BlockId> unsorted_;
  bool sorted_any_ = false;
};

}  // namespace

bool build_arrays(Model& m, Diagnostics& diagnostics, bool& sorted) {
  Builder builder(m, diagnostics);
  const bool built = builder.run();
  sorted = builder.sorted_any();
  return built;
}

}  // namespace ampc
