// Writes the schemas of the onnx library that it is linked with as a C++ file of constants (schema_table.h).
//
//   make_schema_table OUTPUT.cc
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include "onnx/defs/schema.h"

#include "ampc/model/onnx_registry.h"
#include "ampc/model/schema_facts.h"

namespace {

/// A C++ string literal.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

void write(std::ostream& out, const std::vector<ampc::Signature>& signatures,
           const std::map<std::string, int>& newest) {
  std::string formals, vars, attributes, ops;
  std::size_t formal = 0, var = 0, attribute = 0;
  for (const auto& s : signatures) {
    ops += fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n", quoted(s.domain), quoted(s.name),
                       s.since_version, s.deprecated, formal, s.inputs.size(), s.outputs.size(), var,
                       s.type_vars.size(), attribute, s.attributes.size());
    for (const auto* list : {&s.inputs, &s.outputs}) {
      for (const auto& f : *list) {
        formals += fmt::format("    {{{}, {}, {:#x}, {}, {}, {}, {}}},\n", quoted(f.name), f.type_var, f.elems.bits(),
                               f.tensor_only, f.optional, f.variadic, f.homogeneous);
      }
    }
    for (const auto& v : s.type_vars)
      vars += fmt::format("    {{{}, {:#x}, {}}},\n", quoted(v.name), v.elems.bits(), v.bound_by_input);
    for (const auto& a : s.attributes) {
      attributes += fmt::format("    {{{}, static_cast<ampc::AttrKind>({}), {}, {}, {:a}, {}}},\n", quoted(a.name),
                                static_cast<int>(a.kind), a.required, a.has_default, a.number, quoted(a.text));
    }
    formal += s.inputs.size() + s.outputs.size();
    var += s.type_vars.size();
    attribute += s.attributes.size();
  }
  std::string domains;
  for (const auto& [name, version] : newest) domains += fmt::format("    {{{}, {}}},\n", quoted(name), version);
  out << "// Written by make_schema_table from the schemas of onnx's library.\n"
         "#include \"ampc/model/schema_table.h\"\n\nnamespace ampc::schema_table {\nnamespace {\n\n";
  const auto array = [&](std::string_view type, std::string_view name, std::string_view rows) {
    out << fmt::format("constexpr {} {}_rows[] = {{\n{}}};\n\n", type, name, rows);
  };
  array("OpRow", "op", ops);
  array("FormalRow", "formal", formals);
  array("VarRow", "var", vars);
  array("AttrRow", "attribute", attributes);
  array("DomainRow", "domain", domains);
  out << "}  // namespace\n\n"
         "const std::span<const OpRow> ops = op_rows;\n"
         "const std::span<const FormalRow> formals = formal_rows;\n"
         "const std::span<const VarRow> vars = var_rows;\n"
         "const std::span<const AttrRow> attributes = attribute_rows;\n"
         "const std::span<const DomainRow> domains = domain_rows;\n\n"
         "}  // namespace ampc::schema_table\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_schema_table OUTPUT.cc\n";
    return 2;
  }
  std::vector<ampc::Signature> signatures;
  ampc::onnx_registry::for_each([&](const onnx::OpSchema& s) { signatures.push_back(ampc::signature_of(s)); });
  std::sort(signatures.begin(), signatures.end(), [](const auto& a, const auto& b) {
    return std::tie(a.domain, a.name, a.since_version) < std::tie(b.domain, b.name, b.since_version);
  });
  std::map<std::string, int> newest;
  for (const auto& [domain, range] : onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map())
    newest.emplace(domain, range.second);
  std::ofstream out(argv[1], std::ios::binary);
  write(out, signatures, newest);
  out.flush();
  if (out) return 0;
  std::cerr << "make_schema_table: cannot write " << argv[1] << '\n';
  return 1;
}
