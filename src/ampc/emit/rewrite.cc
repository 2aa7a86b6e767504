#include "ampc/emit/rewrite.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "onnx/onnx_pb.h"

#include "ampc/model/default_domain.h"
#include "ampc/model/special_ops.h"
#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"

namespace ampc::emit {
namespace {

class Rewriter {
 public:
  Rewriter(Model& m, const Plan& plan, WeightJobs& jobs) : m_(m), plan_(plan), jobs_(jobs) {}

  void run() {
    for (const WeightPlan& w : plan_.weights) weight(w);
    for (const Retarget& r : plan_.retargets) retarget(r);
    // Types are set by name, so before any name changes.
    for (BlockId b = 0; b < m_.blocks.size(); ++b) types(b);
    home_types();
    order_casts();
    // A body's list is part of its owner's message, which moves with its list: the innermost first.
    for (BlockId b = static_cast<BlockId>(m_.blocks.size()); b-- > 0;) nodes(b);
    for (const OutputCast& o : plan_.outputs) {
      onnx::ValueInfoProto& info = *m_.blocks[o.block].graph->mutable_output(static_cast<int>(o.index));
      info.set_name(plan_.casts[o.cast].name);
      if (info.has_type()) set_type(info, plan_.casts[o.cast].to);  // low where all branches give it out low (R19)
    }
    if (plan_.added_casts != 0) import_default_domain();
  }

 private:
  // ---- weights ---------------------------------------------------------------------------------------------------

  void weight(const WeightPlan& w) {
    if (w.storage == Storage::as_is) return;
    const Value& v = m_.values[w.value];
    if (w.storage == Storage::both) {
      onnx::TensorProto* copy = m_.blocks[v.block].graph->add_initializer();
      *copy = *v.weight;
      copy->set_name(w.copy_name);
      cast(*copy, w);
      return;
    }
    cast(*v.weight, w);
    if (v.producer == kNone || v.sparse != nullptr) return;
    // A Constant whose value stood in another attribute gets a tensor.
    onnx::NodeProto& proto = *m_.nodes[v.producer].proto;
    if (proto.attribute_size() == 1 && proto.attribute(0).has_t()) return;
    proto.clear_attribute();
    onnx::AttributeProto* a = proto.add_attribute();
    a->set_name("value");
    a->set_type(onnx::AttributeProto::TENSOR);
    *a->mutable_t() = *v.weight;
  }

  void cast(onnx::TensorProto& t, const WeightPlan& w) {
    const wire::Bytes source = tensors::bytes_of(m_, t);
    WeightJob job{source, true, {ElemType::float32, w.low, w.clamp}, w.storage == Storage::rounded};
    std::string raw;
    if (source.size() >= wire::kCutThreshold) {
      if (!t.has_raw_data() || !wire::marker_index(t.raw_data())) {
        // Its bytes lie in the message itself, which is about to change.
        auto* copy = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(&m_.storage->arena);
        *copy = t;
        job.source = tensors::bytes_of(m_, *copy);
      }
      raw = wire::marker(jobs_.add(job));
    } else {
      raw.resize(job.size());
      job.run(0, {reinterpret_cast<std::byte*>(raw.data()), raw.size()}, weights::cpu_caster());
    }
    t.clear_float_data();
    t.set_data_type(static_cast<int>(job.back ? ElemType::float32 : w.low));
    t.set_raw_data(std::move(raw));
  }

  void retarget(const Retarget& r) {
    onnx::AttributeProto* a = m_.attribute(r.node, r.attribute);
    if (a == nullptr) {
      a = m_.nodes[r.node].proto->add_attribute();
      a->set_name(r.attribute);
      a->set_type(r.tensor ? onnx::AttributeProto::TENSOR : onnx::AttributeProto::INT);
      if (r.tensor) {
        a->mutable_t()->add_dims(1);
        a->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
        a->mutable_t()->add_float_data(0);
      }
    }
    if (!r.tensor) {
      a->set_i(static_cast<int>(r.to));
      return;
    }
    WeightPlan w;
    w.low = r.to;
    cast(*a->mutable_t(), w);
  }

  // ---- types -----------------------------------------------------------------------------------------------------

  static void set_type(onnx::ValueInfoProto& info, ElemType t) {
    info.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(t));
  }

  void types(BlockId b) {
    onnx::GraphProto& g = *m_.blocks[b].graph;
    const auto set = [&](onnx::ValueInfoProto& info, ValueId v) {
      const ElemType t = outside_type(v);
      if (m_.values[v].tensor && t != m_.values[v].type) set_type(info, t);
    };
    for (auto& info : *g.mutable_value_info()) {
      if (const ValueId v = m_.blocks[b].names.find(info.name()); v != NameTable::kAbsent) set(info, v);
    }
    for (auto& info : *g.mutable_input()) set(info, m_.blocks[b].names.find(info.name()));
    for (auto& info : *g.mutable_output()) {
      const bool renamed = std::any_of(plan_.outputs.begin(), plan_.outputs.end(), [&](const OutputCast& o) {
        return o.block == b && &info == &g.output(static_cast<int>(o.index));
      });
      const ValueId v = m_.blocks[b].names.find(info.name());
      if (!renamed && v != NameTable::kAbsent && info.has_type()) set(info, v);
    }
  }

  /// What an output's declaration says of its shape holds for the value that it is a cast of, too.
  void home_types() {
    onnx::GraphProto& g = *m_.blocks[0].graph;
    if (plan_.home_name.empty()) return;
    std::unordered_set<ValueId> told;  // a value may be given out twice
    for (int i = 0; i < g.output_size(); ++i) {
      const ValueId v = m_.blocks[0].outputs[static_cast<std::size_t>(i)];
      if (plan_.home_name[v].empty() || m_.values[v].producer == kNone || !told.insert(v).second) continue;
      if (!g.output(i).type().tensor_type().has_shape()) continue;
      onnx::ValueInfoProto& info = *g.add_value_info();
      *info.mutable_type() = g.output(i).type();
      info.set_name(plan_.home_name[v]);
      set_type(info, plan_.home[v]);
    }
  }

  /// The type of what bears the value's own name in the result.
  ElemType outside_type(ValueId v) const {
    if (plan_.home_name.empty() || plan_.home_name[v].empty()) return plan_.home[v];
    const auto cast = std::find_if(plan_.casts.begin(), plan_.casts.end(),
                                   [&](const CastNode& c) { return c.value == v && c.takes_name; });
    return cast->to;
  }

  // ---- nodes -----------------------------------------------------------------------------------------------------

  void order_casts() {
    order_.resize(plan_.casts.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::erase_if(order_, [&](std::uint32_t i) { return plan_.casts[i].stored; });
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const CastNode &x = plan_.casts[a], &y = plan_.casts[b];
      return std::pair(x.block, x.before) < std::pair(y.block, y.before);
    });
    moved_.assign(plan_.casts.empty() ? 0 : m_.nodes.size(), 0);
    for (const CastNode& c : plan_.casts) {
      if (c.reused != kNone) moved_[c.reused] = 1;
    }
  }

  void nodes(BlockId b) {
    auto next = std::lower_bound(order_.begin(), order_.end(), b,
                                 [&](std::uint32_t i, BlockId block) { return plan_.casts[i].block < block; });
    const auto end = std::upper_bound(next, order_.end(), b,
                                      [&](BlockId block, std::uint32_t i) { return block < plan_.casts[i].block; });
    for (NodeId n = m_.blocks[b].first; n < m_.blocks[b].last; ++n) rename(n);
    const bool removes = std::any_of(plan_.removed.begin() + m_.blocks[b].first,
                                     plan_.removed.begin() + m_.blocks[b].last, [](std::uint8_t r) { return r != 0; });
    if (next == end && !removes) return;
    auto* list = m_.blocks[b].graph->mutable_node();
    std::vector<onnx::NodeProto*> old(static_cast<std::size_t>(list->size()));
    list->UnsafeArenaExtractSubrange(0, list->size(), old.data());
    list->Reserve(static_cast<int>(old.size() + static_cast<std::size_t>(end - next)));
    const auto put_casts = [&](NodeId before) {
      for (; next != end && plan_.casts[*next].before == before; ++next) put(*list, *next);
    };
    for (NodeId n = m_.blocks[b].first; n < m_.blocks[b].last; ++n) {
      put_casts(n);
      if (plan_.removed[n] == 0 && (moved_.empty() || moved_[n] == 0)) list->UnsafeArenaAddAllocated(m_.nodes[n].proto);
    }
    put_casts(kNone);
  }

  template <typename List>
  void put(List& list, std::uint32_t index) {
    const CastNode& c = plan_.casts[index];
    if (c.reused != kNone) {
      list.UnsafeArenaAddAllocated(m_.nodes[c.reused].proto);
      return;
    }
    auto* proto = google::protobuf::Arena::CreateMessage<onnx::NodeProto>(&m_.storage->arena);
    proto->set_op_type(std::string(special::kCast));
    proto->set_name(c.node_name);
    proto->add_input(std::string(version_name(c)));
    proto->add_output(c.name);
    onnx::AttributeProto* to = proto->add_attribute();
    to->set_name("to");
    to->set_type(onnx::AttributeProto::INT);
    to->set_i(static_cast<int>(c.to));
    if (c.consumer != kNone) take_metadata(*proto, *m_.nodes[c.consumer].proto);
    list.UnsafeArenaAddAllocated(proto);
  }

  /// R23
  static void take_metadata(onnx::NodeProto& cast, const onnx::NodeProto& consumer) {
    if (consumer.has_doc_string()) cast.set_doc_string(consumer.doc_string());
    *cast.mutable_metadata_props() = consumer.metadata_props();
    for (const auto& d : consumer.device_configurations()) {
      auto* mine = cast.add_device_configurations();
      *mine = d;
      mine->clear_sharding_spec();  // it speaks of the consumer's values
    }
  }

  std::string_view version_name(const CastNode& c) const {
    if (c.from == plan_.home[c.value]) return plan_.name_of(m_, c.value);
    for (const CastNode& other : plan_.casts) {
      if (other.value == c.value && other.to == c.from) return other.name;
    }
    return {};
  }

  void rename(NodeId n) {
    onnx::NodeProto& proto = *m_.nodes[n].proto;
    for (std::uint32_t i = 0; i < m_.nodes[n].operand_end - m_.nodes[n].operand_begin; ++i) {
      const std::uint32_t at = m_.nodes[n].operand_begin + i;
      const ValueId v = plan_.operand_values[at];
      if (v == kNone) continue;
      if (const std::uint32_t cast = plan_.operand_casts[at]; cast != kNone) {
        proto.set_input(static_cast<int>(i), plan_.casts[cast].name);
      } else if (v != m_.operands[at] || (!plan_.home_name.empty() && !plan_.home_name[v].empty())) {
        proto.set_input(static_cast<int>(i), std::string(plan_.name_of(m_, v)));
      }
    }
    if (plan_.home_name.empty()) return;
    const auto results = m_.results_of(n);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNone || plan_.home_name[results[i]].empty()) continue;
      set_output(proto, static_cast<int>(i), plan_.home_name[results[i]]);
    }
  }

  /// The model's tables point to the old name, which stays where it is, in the arena.
  static void set_output(onnx::NodeProto& proto, int at, const std::string& name) {
    auto* list = proto.mutable_output();
    std::string* old = nullptr;
    list->UnsafeArenaExtractSubrange(at, 1, &old);
    list->Add(std::string(name));
    for (int i = list->size() - 1; i > at; --i) list->SwapElements(i, i - 1);
  }

  /// R18: Cast belongs to the default domain, which a model of other domains alone need not import.
  void import_default_domain() {
    for (const auto& i : m_.proto->opset_import()) {
      if (i.domain().empty() || i.domain() == "ai.onnx") return;
    }
    const int version = default_opset(m_);
    m_.proto->add_opset_import()->set_version(version);
  }

  Model& m_;
  const Plan& plan_;
  WeightJobs& jobs_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint8_t> moved_;
};

}  // namespace

void rewrite(Model& m, const Plan& plan, WeightJobs& jobs) { Rewriter(m, plan, jobs).run(); }

}  // namespace ampc::emit
