// The table of schemas that src/tools/make_schema_table.cc writes while ampc is built: rows of plain constants.
// An operator's lists lie one after another, in the order of its rows' counts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ampc/model/schemas.h"

namespace ampc::schema_table {

struct FormalRow {
  const char* name;
  int type_var;
  std::uint64_t elems;  // bits of an ElemTypeSet
  bool tensor_only, optional, variadic, homogeneous;
};

struct VarRow {
  const char* name;
  std::uint64_t elems;
  bool bound_by_input;
};

struct AttrRow {
  const char* name;
  AttrKind kind;
  bool required, has_default;
  double number;
  const char* text;
};

/// One version of an operator. `first_…` are positions in `formals`, `vars` and `attributes`; inputs stand before
/// outputs.
struct OpRow {
  std::string_view domain;
  std::string_view name;
  int since_version;
  bool deprecated;
  std::uint32_t first_formal, inputs, outputs;
  std::uint32_t first_var, vars;
  std::uint32_t first_attribute, attributes;
};

struct DomainRow {
  std::string_view name;
  int newest;
};

/// Sorted by domain, name and version.
extern const std::span<const OpRow> ops;
extern const std::span<const FormalRow> formals;
extern const std::span<const VarRow> vars;
extern const std::span<const AttrRow> attributes;
/// Sorted by name.
extern const std::span<const DomainRow> domains;

}  // namespace ampc::schema_table
