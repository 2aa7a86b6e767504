#include "ampc/lsp/operator_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "ampc/model/onnx_registry.h"
#include "onnx/defs/schema.h"

namespace ampc::lsp {
namespace {

std::string types_of(const Signature& s, const Formal& f) {
  std::string text = types_text(f.elems);
  if (f.type_var != kNoTypeVar) text = types_text(s.type_vars.at(static_cast<std::size_t>(f.type_var)).elems);
  if (!f.tensor_only) text += text.empty() ? "no tensor" : ", or no tensor";
  return text;
}

std::string formals_text(const Signature& s, const std::vector<Formal>& formals, const char* title) {
  if (formals.empty()) return {};
  std::string text = fmt::format("\n{}\n\n", title);
  std::size_t number = 0;
  for (const Formal& f : formals) {
    const std::string type =
        f.type_var == kNoTypeVar ? types_of(s, f) : s.type_vars.at(static_cast<std::size_t>(f.type_var)).name;
    text += fmt::format("{}. `{}{}{}`: {}\n", ++number, f.name, f.variadic ? "..." : "", f.optional ? "?" : "", type);
  }
  return text;
}

std::string_view kind_name(AttrKind kind) {
  switch (kind) {
    case AttrKind::integer:
      return "int";
    case AttrKind::floating:
      return "float";
    case AttrKind::string:
      return "string";
    case AttrKind::tensor:
      return "tensor";
    case AttrKind::graph:
      return "graph";
    case AttrKind::type:
      return "type";
    case AttrKind::list:
      return "list";
    case AttrKind::other:
      break;
  }
  return "other";
}

std::string attributes_text(const Signature& s) {
  if (s.attributes.empty()) return {};
  std::string text = "\nAttributes: ";
  for (const AttrFormal& a : s.attributes) {
    if (&a != s.attributes.data()) text += ", ";
    text += fmt::format("`{}{}: {}", a.name, a.required || a.has_default ? "" : "?", kind_name(a.kind));
    if (a.has_default && (a.kind == AttrKind::integer || a.kind == AttrKind::floating))
      text += fmt::format(" = {:.6g}", a.number);
    if (a.has_default && a.kind == AttrKind::string) text += fmt::format(" = \"{}\"", a.text);
    text += '`';
  }
  return text + '\n';
}

std::string variables_text(const Signature& s) {
  std::string text;
  for (const TypeVar& v : s.type_vars) {
    text += fmt::format("{}`{}` {}", text.empty() ? "" : "; ", v.name, types_text(v.elems));
  }
  return text;
}

/// The first paragraphs of what onnx says of it.
std::string documentation(const Signature& s) {
  constexpr std::size_t kEnough = 400, kMost = 1200;  // bytes
  if (s.is_declared()) return {};
  const onnx::OpSchema* schema = onnx_registry::find(s);
  if (schema == nullptr || schema->doc() == nullptr) return {};
  // The text is indented as it stands in onnx's sources, which Markdown would take for code.
  std::istringstream in(schema->doc());
  std::string text;
  std::size_t indent = std::string::npos;
  for (std::string line; std::getline(in, line) && text.size() < kMost;) {
    const std::size_t first = line.find_first_not_of(" \t");
    const bool blank = first == std::string::npos;
    if (blank && text.size() > kEnough) break;
    if (!blank && indent == std::string::npos) indent = first;
    if (!text.empty() || !blank) text += line.substr(blank ? line.size() : std::min(indent, first)) + '\n';
  }
  // A code block that is cut off is closed.
  std::size_t fences = 0;
  for (std::size_t at = text.find("```"); at != std::string::npos; at = text.find("```", at + 3)) ++fences;
  if (fences % 2 != 0) text += "```\n";
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string types_text(const ElemTypeSet& types) {
  std::vector<std::string_view> names;
  for (const ElemType t : {ElemType::float16, ElemType::bfloat16, ElemType::float32}) {
    if (types.contains(t)) names.push_back(short_name(t));
  }
  for (std::uint8_t i = 0; i <= kLastElemType; ++i) {
    const auto t = static_cast<ElemType>(i);
    if (is_low(t) || t == ElemType::float32 || !types.contains(t)) continue;
    names.push_back(short_name(t));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string operator_text(std::span<const Signature* const> versions) {
  const Signature& s = *versions.back();
  std::string text = fmt::format("**{}** of {}, since version {}{}\n", s.name, s.domain.empty() ? "ai.onnx" : s.domain,
                                 s.since_version, s.deprecated ? ", deprecated" : "");
  text += formals_text(s, s.inputs, "Operands");
  text += formals_text(s, s.outputs, "Results");
  text += attributes_text(s);
  text += "\nTypes\n\n";
  for (auto it = versions.rbegin(); it != versions.rend(); ++it) {
    const std::string variables = variables_text(**it);
    text += fmt::format("- since {}: {}\n", (*it)->since_version, variables.empty() ? "fixed" : variables);
  }
  return text + documentation(s);
}

std::string operand_text(std::span<const Signature* const> versions, const std::string& name, bool result) {
  std::string text;
  for (auto it = versions.rbegin(); it != versions.rend(); ++it) {
    const std::vector<Formal>& formals = result ? (*it)->outputs : (*it)->inputs;
    const auto at = std::find_if(formals.begin(), formals.end(), [&](const Formal& f) { return f.name == name; });
    if (at == formals.end()) continue;
    if (text.empty()) {
      text = fmt::format("**{}**, {} {} of {}{}{}\n\n", name, result ? "result" : "operand", at - formals.begin() + 1,
                         (*it)->name, at->optional ? ", may be left out" : "",
                         at->variadic ? ", stands for any number" : "");
    }
    text += fmt::format("- since {}: {}\n", (*it)->since_version, types_of(**it, *at));
  }
  return text;
}

}  // namespace ampc::lsp
