// `where` clauses at a node.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "onnx/onnx_pb.h"

#include "ampc/model/tensors.h"
#include "ampc/passes/rule_index.h"
#include "ampc/passes/weight_chain.h"

namespace ampc {
namespace {

using lang::Predicate;
using lang::Term;

/// A term's value; empty where nothing tells.
using Answer = std::variant<std::monostate, double, std::string, ValueId>;

/// What a cast reads: a weight that is stored low and cast up is a weight all the same.
ValueId through_casts(const Model& m, ValueId v) {
  while (v != kNone && m.values[v].producer != kNone && m.op_of(m.values[v].producer).is_cast &&
         !m.operands_of(m.values[v].producer).empty() && m.operands_of(m.values[v].producer)[0] != kNone) {
    v = m.operands_of(m.values[v].producer)[0];
  }
  return v;
}

ValueId operand_at(const lang::OperandRef& ref, const Model& m, NodeId n) {
  static const std::vector<Formal> none;
  const Signature* s = m.op_of(n).signature;
  const int p = position_of(ref, s == nullptr ? none : s->inputs);
  const auto operands = m.operands_of(n);
  return p < 0 || static_cast<std::size_t>(p) >= operands.size() ? kNone : operands[static_cast<std::size_t>(p)];
}

Answer attribute(const std::string& name, const Model& m, NodeId n) {
  if (const auto* a = m.attribute(n, name); a != nullptr) {
    switch (a->type()) {
      case onnx::AttributeProto::INT:
        return static_cast<double>(a->i());
      case onnx::AttributeProto::FLOAT:
        return static_cast<double>(a->f());
      case onnx::AttributeProto::STRING:
        return a->s();
      default:
        return {};
    }
  }
  const Signature* s = m.op_of(n).signature;
  const AttrFormal* formal = s == nullptr ? nullptr : s->attribute(name);
  if (formal == nullptr || !formal->has_default) return {};
  if (formal->kind == AttrKind::string) return formal->text;
  if (formal->kind == AttrKind::integer || formal->kind == AttrKind::floating) return formal->number;
  return {};
}

std::optional<double> dimension(const Model& m, ValueId v, double at) {
  const auto pick = [&](int rank, const auto& dim) -> std::optional<double> {
    const int i = static_cast<int>(at < 0 ? at + rank : at);
    if (i < 0 || i >= rank) return std::nullopt;
    return dim(i);
  };
  const Value& value = m.values[v];
  if (value.weight != nullptr) {
    const auto dims = tensors::dims_of(value);
    return pick(static_cast<int>(dims.size()),
                [&](int i) -> std::optional<double> { return static_cast<double>(dims[static_cast<std::size_t>(i)]); });
  }
  if (value.declared == nullptr || !value.declared->tensor_type().has_shape()) return std::nullopt;
  const auto& shape = value.declared->tensor_type().shape();
  return pick(shape.dim_size(), [&](int i) -> std::optional<double> {
    if (!shape.dim(i).has_dim_value()) return std::nullopt;
    return static_cast<double>(shape.dim(i).dim_value());
  });
}

Answer evaluate(const Term& t, const Model& m, NodeId n) {
  switch (t.kind) {
    case Term::Kind::number:
      return t.number;
    case Term::Kind::text:
      return t.text;
    case Term::Kind::attribute:
      return attribute(t.name, m, n);
    case Term::Kind::opset:
      return static_cast<double>(m.op_of(n).version);
    default:
      break;
  }
  const ValueId operand = operand_at(t.operand, m, n);
  if (operand == kNone) return {};
  const ValueId v = t.kind == Term::Kind::type ? operand : through_casts(m, operand);
  switch (t.kind) {
    case Term::Kind::operand:
      return operand;
    case Term::Kind::rank:
      if (m.values[v].rank < 0) return {};
      return static_cast<double>(m.values[v].rank);
    case Term::Kind::dim: {
      const auto d = dimension(m, v, t.number);
      return d ? Answer(*d) : Answer();
    }
    case Term::Kind::size: {
      if (m.values[v].rank < 0) return {};
      double size = 1;
      for (int i = 0; i < m.values[v].rank; ++i) {
        const auto d = dimension(m, v, i);
        if (!d) return {};
        size *= *d;
      }
      return size;
    }
    case Term::Kind::type:
      return std::string(short_name(m.values[v].type));
    default:
      return {};
  }
}

template <typename T>
bool compare(const T& a, const T& b, Predicate::Op op) {
  switch (op) {
    case Predicate::Op::eq:
      return a == b;
    case Predicate::Op::ne:
      return a != b;
    case Predicate::Op::lt:
      return a < b;
    case Predicate::Op::le:
      return a <= b;
    case Predicate::Op::gt:
      return a > b;
    case Predicate::Op::ge:
      return a >= b;
  }
  return false;
}

}  // namespace

namespace {

/// Holds, does not hold, or nothing tells: then neither does its negation.
std::optional<bool> truth(const Predicate& p, const Model& m, NodeId n) {
  switch (p.kind) {
    case Predicate::Kind::all:
    case Predicate::Kind::any: {
      const bool decisive = p.kind == Predicate::Kind::any;
      bool open = false;
      for (const Predicate& part : p.parts) {
        const auto t = truth(part, m, n);
        if (t == decisive) return decisive;
        open |= !t;
      }
      return open ? std::nullopt : std::optional(!decisive);
    }
    case Predicate::Kind::none_of: {
      bool open = false;
      for (const Predicate& part : p.parts) {
        const auto t = truth(part, m, n);
        if (t == true) return false;
        open |= !t;
      }
      return open ? std::nullopt : std::optional(true);
    }
    case Predicate::Kind::is_given:
      return operand_at(p.operand, m, n) != kNone;
    case Predicate::Kind::is_weight:
    case Predicate::Kind::is_constant: {
      const ValueId operand = operand_at(p.operand, m, n);
      const ValueId v = operand == kNone ? kNone : weight_behind(m, operand);
      return v != kNone && (p.kind == Predicate::Kind::is_weight || !m.values[v].graph_input);
    }
    case Predicate::Kind::compare:
      break;
  }
  const Answer a = evaluate(p.left, m, n);
  const Answer b = evaluate(p.right, m, n);
  if (a.index() != b.index() || std::holds_alternative<std::monostate>(a)) return std::nullopt;
  if (const auto* x = std::get_if<double>(&a)) return compare(*x, std::get<double>(b), p.op);
  if (const auto* x = std::get_if<std::string>(&a)) return compare(*x, std::get<std::string>(b), p.op);
  return compare(std::get<ValueId>(a), std::get<ValueId>(b), p.op);
}

}  // namespace

bool holds(const Predicate& p, const Model& m, NodeId n) { return truth(p, m, n) == true; }

bool holds(const lang::WeightTest& test, const weights::Stats& stats) {
  using Kind = lang::WeightTest::Kind;
  using Measure = lang::WeightTest::Measure;
  const auto part_holds = [&](const lang::WeightTest& part) { return holds(part, stats); };
  switch (test.kind) {
    case Kind::all:
      return std::all_of(test.parts.begin(), test.parts.end(), part_holds);
    case Kind::any:
      return std::any_of(test.parts.begin(), test.parts.end(), part_holds);
    case Kind::none_of:
      return std::none_of(test.parts.begin(), test.parts.end(), part_holds);
    case Kind::compare:
      break;
  }
  const double count = std::max<double>(1, static_cast<double>(stats.count));
  const double value = test.measure == Measure::absmax      ? stats.absmax
                       : test.measure == Measure::underflow ? static_cast<double>(stats.underflow) / count
                       : test.measure == Measure::overflow  ? static_cast<double>(stats.overflow) / count
                                                            : static_cast<double>(stats.count);
  return compare(value, test.limit, test.op);
}

}  // namespace ampc
