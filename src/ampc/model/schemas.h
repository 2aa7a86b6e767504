// onnx's operator schemas as the compiler reads them: operands bound to type variables, and what each variable admits.
//
// Everything that ampc knows of an operator's types comes through here (R4). The rest of the compiler sees plain
// structs; protobuf stays behind this header.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/diag/diagnostic.h"
#include "ampc/model/elem_type.h"

namespace ampc {

inline constexpr int kNoTypeVar = -1;

/// One formal parameter (input or output) of an operator.
struct Formal {
  std::string name;
  int type_var = kNoTypeVar;  // index into Signature::type_vars, or kNoTypeVar where the schema fixes the type
  ElemTypeSet elems;          // element types that a tensor may have here
  bool tensor_only = true;    // false where a sequence, an optional, a map or a sparse tensor may stand
  bool optional = false;
  bool variadic = false;
  bool homogeneous = true;  // of a variadic parameter: all its operands share one type
};

struct TypeVar {
  std::string name;  // "T", "T1", …
  ElemTypeSet elems;
  bool bound_by_input = false;  // some input carries it; otherwise only an attribute (or nothing) can decide it
};

enum class AttrKind { integer, floating, string, tensor, graph, type, list, other };

struct AttrFormal {
  std::string name;
  AttrKind kind = AttrKind::other;
  bool required = false;
  bool has_default = false;
  double number = 0;  // default of an integer or floating attribute
  std::string text;   // default of a string attribute
};

/// An operator at one version.
struct Signature {
  std::string domain;  // "" is ai.onnx
  std::string name;
  int since_version = 1;
  bool deprecated = false;
  std::vector<Formal> inputs;
  std::vector<Formal> outputs;
  std::vector<TypeVar> type_vars;
  std::vector<AttrFormal> attributes;
  Span declared;  // where a rule file declares the operator

  /// The formal at 0-based `position`, the last one repeating where it is variadic; nullptr beyond the end.
  const Formal* input(std::size_t position) const { return at(inputs, position); }
  const Formal* output(std::size_t position) const { return at(outputs, position); }
  const AttrFormal* attribute(std::string_view name) const;
  /// Declared by a rule file; onnx's schemas know nothing of it.
  bool is_declared() const { return declared.valid(); }

 private:
  static const Formal* at(const std::vector<Formal>& list, std::size_t position);
};

/// All schemas of onnx's library, as the table has them that is made while ampc is built. Read from any thread.
class Schemas {
 public:
  static const Schemas& get();

  /// The operator as the opset `version` of `domain` knows it; nullptr where it does not.
  const Signature* find(std::string_view domain, std::string_view op, int version) const;
  /// Every version of an operator, oldest first; empty where the domain has no such operator.
  std::span<const Signature* const> versions(std::string_view domain, std::string_view op) const;
  /// "ai.onnx" is the long spelling of "".
  bool has_domain(std::string_view domain) const;
  /// Operators of a domain, sorted.
  std::vector<std::string_view> operators(std::string_view domain) const;
  /// Domains, sorted.
  std::vector<std::string_view> domains() const;
  /// Newest opset of a domain; 0 where the domain is unknown.
  int newest(std::string_view domain) const;

  Schemas(const Schemas&) = delete;
  Schemas& operator=(const Schemas&) = delete;
  ~Schemas();

 private:
  Schemas();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ampc
