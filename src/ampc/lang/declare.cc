#include "ampc/lang/declare.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/places.h"
#include "ampc/lang/synonyms.h"

namespace ampc::lang {

namespace {

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

// What stands where no dense tensor does.
constexpr std::string_view kOthers[] = {"sequence", "optional", "map", "sparse"};
constexpr std::string_view kAny = "any";

struct Type {
  ElemTypeSet elems;
  bool tensor = true;
};

ElemTypeSet every_type() {
  ElemTypeSet set;
  for (unsigned t = 1; t <= kLastElemType; ++t) set.insert(static_cast<ElemType>(t));
  return set;
}

std::optional<Type> type_of(std::string_view word) {
  if (word == kAny) return Type{every_type(), true};
  if (std::find(std::begin(kOthers), std::end(kOthers), word) != std::end(kOthers)) return Type{{}, false};
  const ElemType t = elem_type(word);
  if (t == ElemType::undefined) return std::nullopt;
  Type type;
  type.elems.insert(t);
  return type;
}

constexpr std::pair<std::string_view, AttrKind> kAttributeTypes[] = {
    {"int", AttrKind::integer}, {"float", AttrKind::floating}, {"string", AttrKind::string}, {"ints", AttrKind::list},
    {"floats", AttrKind::list}, {"strings", AttrKind::list},   {"tensor", AttrKind::tensor}, {"graph", AttrKind::graph},
    {"type", AttrKind::type},   {"list", AttrKind::list},      {"other", AttrKind::other},
};

/// One declaration to a signature.
class Declaration {
 public:
  Declaration(const ast::Extern& n, Diagnostics& diagnostics) : n_(n), diagnostics_(diagnostics) {}

  std::optional<Signature> run() {
    const std::size_t before = diagnostics_.errors();
    out_.domain = n_.op.domain;
    out_.name = n_.op.name;
    out_.declared = n_.op.span;
    name();
    variables();
    formals(n_.inputs, false);
    formals(n_.outputs, true);
    attributes();
    if (diagnostics_.errors() != before) return std::nullopt;
    for (const ast::TypeVariable& v : n_.types) {
      if (used_.contains(v.name.text)) continue;
      diagnostics_.error(codes::kBadDeclaration, "no operand and no result has the type " + quote(v.name.text))
          .at(v.name.span)
          .fix("leave it out, or give an operand this type: x: " + v.name.text);
      return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  void name() {
    if (!n_.op.qualified) {
      diagnostics_.error(codes::kBadDeclaration, "an operator of your own belongs in a domain of its own")
          .at(n_.op.span)
          .fix("write it as the model has it, extern com.acme::" + n_.op.name + "(...)");
    } else if (!Schemas::get().versions(n_.op.domain, n_.op.name).empty()) {
      diagnostics_
          .error(codes::kBadDeclaration,
                 "ONNX's own schemas have " + quote((n_.op.domain.empty() ? "" : n_.op.domain + "::") + n_.op.name))
          .at(n_.op.span)
          .fix("leave the declaration out; what is yours belongs in a domain of its own");
    }
    if (!n_.since) return;
    if (!n_.since->whole || n_.since->value < 1 || n_.since->value > 1e6) {
      diagnostics_.error(codes::kBadNumber, "a version is a whole number, from 1")
          .at(n_.since->span)
          .fix("write the version of the domain that brought it: since 2");
      return;
    }
    out_.since_version = static_cast<int>(n_.since->value);
  }

  bool once(std::map<std::string, Span>& seen, const ast::Word& word, std::string_view what) {
    const auto [it, fresh] = seen.try_emplace(word.text, word.span);
    if (fresh) return true;
    diagnostics_.error(codes::kDefinedTwice, fmt::format("there are two {}s {}", what, quote(word.text)))
        .at(word.span, "here again")
        .also(it->second, "first here")
        .fix(what == "type variable" ? "say all its types at once: " + word.text + " in fp32, fp16"
                                     : "give one of the two another name");
    return false;
  }

  void variables() {
    std::map<std::string, Span> seen;
    for (const ast::TypeVariable& v : n_.types) {
      if (type_of(v.name.text)) {
        diagnostics_.error(codes::kBadDeclaration, quote(v.name.text) + " is a type, not a type variable")
            .at(v.name.span)
            .fix("give the variable another name, such as T");
        continue;
      }
      if (!once(seen, v.name, "type variable")) continue;
      TypeVar var;
      var.name = v.name.text;
      bool tensor = true;
      for (const ast::Word& word : v.types) {
        const auto type = type_of(word.text);
        if (!type) {
          unknown_type(word, false);
          continue;
        }
        tensor &= type->tensor;
        for (unsigned t = 1; t <= kLastElemType; ++t) {
          if (type->elems.contains(static_cast<ElemType>(t))) var.elems.insert(static_cast<ElemType>(t));
        }
      }
      tensor_only_.push_back(tensor);
      out_.type_vars.push_back(std::move(var));
    }
  }

  void unknown_type(const ast::Word& word, bool variables) {
    if (!unknown_.insert(word.text).second) return;  // once a declaration
    auto& d = diagnostics_.error(codes::kNoSuchType, "no type is called " + quote(word.text)).at(word.span);
    std::vector<std::string> names(std::begin(kOthers), std::end(kOthers));
    names.emplace_back(kAny);
    for (unsigned t = 1; t <= static_cast<unsigned>(ElemType::int2); ++t)
      names.emplace_back(short_name(static_cast<ElemType>(t)));
    if (variables) {
      for (const ast::TypeVariable& v : n_.types) names.push_back(v.name.text);
    }
    if (const std::string_view meant = type_meant(word.text); !meant.empty()) {
      d.label = "did you mean '" + std::string(meant) + "'?";
      d.edit(word.span, std::string(meant));
      return;
    }
    suggest(d, word.text, names);
    if (!d.label.empty()) return;
    if (variables) {
      d.fix("say what a type variable may be: where " + word.text + " in fp32, fp16");
    } else {
      d.fix("types are fp32, fp16, bf16, fp64, int64, bool, string and their like");
    }
  }

  void formals(const std::vector<ast::FormalDeclaration>& list, bool results) {
    std::map<std::string, Span> seen;
    std::vector<Formal>& into = results ? out_.outputs : out_.inputs;
    const std::string_view what = results ? "result" : "operand";
    for (const ast::FormalDeclaration& f : list) {
      once(seen, f.name, what);
      if (f.variadic && &f != &list.back()) {
        diagnostics_
            .error(codes::kBadDeclaration,
                   fmt::format("{} stands for any number of {}s, so it is the last one", quote(f.name.text), what))
            .at(f.name.span)
            .fix("move it behind the others");
      }
      Formal formal;
      formal.name = f.name.text;
      formal.optional = f.optional;
      formal.variadic = f.variadic;
      formal.homogeneous = !f.each;
      const auto var = std::find_if(out_.type_vars.begin(), out_.type_vars.end(),
                                    [&](const TypeVar& v) { return v.name == f.type.text; });
      if (var != out_.type_vars.end()) {
        const auto at = static_cast<std::size_t>(var - out_.type_vars.begin());
        formal.type_var = static_cast<int>(at);
        formal.elems = var->elems;
        formal.tensor_only = tensor_only_[at];
        if (!results && formal.homogeneous) var->bound_by_input = true;
      } else if (const auto type = type_of(f.type.text)) {
        formal.elems = type->elems;
        formal.tensor_only = type->tensor;
      } else if (std::none_of(n_.types.begin(), n_.types.end(),
                              [&](const ast::TypeVariable& v) { return v.name.text == f.type.text; })) {
        unknown_type(f.type, true);
      }
      used_.insert(f.type.text);
      into.push_back(std::move(formal));
    }
  }

  void attributes() {
    std::map<std::string, Span> seen;
    for (const ast::AttributeDeclaration& a : n_.attributes) {
      if (!once(seen, a.name, "attribute")) continue;
      AttrFormal formal;
      formal.name = a.name.text;
      const auto* kind = std::find_if(std::begin(kAttributeTypes), std::end(kAttributeTypes),
                                      [&](const auto& k) { return k.first == a.type.text; });
      if (kind == std::end(kAttributeTypes)) {
        std::vector<std::string> names;
        for (const auto& [word, unused] : kAttributeTypes) names.emplace_back(word);
        diagnostics_.error(codes::kNoSuchType, "no attribute has the type " + quote(a.type.text))
            .at(a.type.span, did_you_mean(a.type.text, names))
            .fix("an attribute is of type " + list_of(names, false));
        continue;
      }
      formal.kind = kind->second;
      formal.has_default = a.number || a.text;
      formal.required = !a.optional && !formal.has_default;
      if (formal.has_default && !default_fits(a, formal)) continue;
      out_.attributes.push_back(std::move(formal));
    }
    std::sort(out_.attributes.begin(), out_.attributes.end(),
              [](const AttrFormal& a, const AttrFormal& b) { return a.name < b.name; });
  }

  bool default_fits(const ast::AttributeDeclaration& a, AttrFormal& formal) {
    if (a.number) formal.number = a.number->value;
    if (a.text) formal.text = *a.text;
    const bool fits = formal.kind == AttrKind::string     ? a.text.has_value()
                      : formal.kind == AttrKind::floating ? a.number.has_value()
                      : formal.kind == AttrKind::integer  ? a.number && a.number->whole
                                                          : false;
    if (fits) return true;
    auto& d =
        diagnostics_.error(codes::kBadDeclaration, "this is no default of type " + quote(a.type.text)).at(a.value);
    if (formal.kind == AttrKind::string) {
      d.fix("a text stands in quotes");
    } else if (formal.kind == AttrKind::floating || formal.kind == AttrKind::integer) {
      d.fix(formal.kind == AttrKind::integer ? "write a whole number" : "write a number");
    } else {
      d.fix("only int, float and string have defaults here; an attribute that may be left out is written " +
            a.name.text + "?: " + a.type.text);
    }
    return false;
  }

  const ast::Extern& n_;
  Diagnostics& diagnostics_;
  Signature out_;
  std::vector<bool> tensor_only_;  // by type variable
  std::set<std::string> used_;
  std::set<std::string> unknown_;  // types that were reported
};

// ---- as text ----

std::string types(const ElemTypeSet& elems, bool tensor_only) {
  if (elems == every_type()) return std::string(kAny);
  std::string text;
  for (unsigned t = 1; t <= kLastElemType; ++t) {
    if (elems.contains(static_cast<ElemType>(t))) {
      text += (text.empty() ? "" : ", ") + std::string(short_name(static_cast<ElemType>(t)));
    }
  }
  if (!tensor_only) text += std::string(text.empty() ? "" : ", ") + std::string(kOthers[0]);
  return text;
}

std::string text_of(const std::vector<Formal>& list, const std::vector<TypeVar>& vars) {
  std::string text = "(";
  for (const Formal& f : list) {
    if (&f != list.data()) text += ", ";
    text += f.name + (f.variadic ? "...: " : f.optional ? "?: " : ": ") + (f.homogeneous ? "" : "each ");
    text += f.type_var == kNoTypeVar ? types(f.elems, f.tensor_only) : vars[static_cast<std::size_t>(f.type_var)].name;
  }
  return text + ")";
}

std::string text_of(const AttrFormal& a) {
  std::string_view type;  // of several words the last
  for (const auto& [word, kind] : kAttributeTypes) {
    if (kind == a.kind) type = word;
  }
  std::string text = a.name + (a.required || a.has_default ? ": " : "?: ") + std::string(type);
  if (!a.has_default) return text;
  if (a.kind != AttrKind::string) return text + fmt::format(" = {}", a.number);
  text += " = \"";
  for (const char c : a.text) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

/// The declarations of all files, those that override others in their place.
class Declarations {
 public:
  Declarations(const Program& program, Diagnostics& diagnostics) : program_(program), diagnostics_(diagnostics) {}

  std::shared_ptr<const Operators> run() {
    for (const std::size_t unit : program_.imports_first) {
      for (const bool overriding : {false, true}) {
        for (const ast::Statement& s : program_.units[unit].file.statements) {
          const auto* n = std::get_if<ast::Extern>(&s.node);
          if (n == nullptr || n->standing.overriding != overriding) continue;
          if (auto signature = Declaration(*n, diagnostics_).run())
            take({std::move(*signature), unit, n->standing.sealed}, overriding);
        }
      }
    }
    std::vector<Signature> list;
    list.reserve(found_.size());
    for (auto& [key, entry] : found_) list.push_back(std::move(entry.signature));
    return std::make_shared<const Operators>(std::move(list));
  }

 private:
  struct Entry {
    Signature signature;
    std::size_t unit;
    bool sealed;
  };

  void take(Entry entry, bool overriding) {
    const Signature& signature = entry.signature;
    auto key = std::tuple(signature.domain, signature.name, signature.since_version);
    const auto known = found_.find(key);
    if (overriding) {
      if (known != found_.end() && program_.reaches[entry.unit][known->second.unit]) {
        if (known->second.sealed) {
          report_sealed(diagnostics_, program_, name(signature), {signature.declared, entry.unit},
                        {known->second.signature.declared, known->second.unit});
        } else {
          known->second = std::move(entry);
        }
      } else {
        auto& d = diagnostics_
                      .error(codes::kNothingToOverride,
                             "'override' finds no such declaration of " + quote(name(signature)) + " in imported files")
                      .at(signature.declared)
                      .fix("leave 'override' out");
        edit_override_out(d, program_, signature.declared);
      }
    } else if (known == found_.end()) {
      found_.emplace(std::move(key), std::move(entry));
    } else if (print(known->second.signature) != print(signature)) {  // files that agree are none the worse
      report_two(entry, known->second);
    }
  }

  // At the file that imports the other, else at the later one.
  void report_two(const Entry& a, const Entry& b) {
    const auto place = [&](const Entry& e) {
      return std::tuple(std::string_view(program_.units[e.unit].path), e.signature.declared.begin);
    };
    const bool imports = program_.reaches[a.unit][b.unit];
    const bool imported = program_.reaches[b.unit][a.unit];
    const bool later = imports || (!imported && place(b) < place(a));
    const Entry& at = later ? a : b;
    const Entry& other = later ? b : a;
    auto& d = diagnostics_.error(codes::kDefinedTwice, quote(name(at.signature)) + " is declared twice, differently")
                  .at(at.signature.declared, "declared here")
                  .also(other.signature.declared, "and here");
    show_imports(d, program_, at.unit, other.unit);
    if (!imports && !imported) {
      d.fix("remove one of the two; an operator that a newer version of its domain changed says so: extern " +
            name(at.signature) + " since 2 (...)");
      return;
    }
    if (other.sealed) {
      d.fix("the imported one is sealed: leave this one out");
      return;
    }
    d.fix("to replace what the imported file says, write 'override extern " + name(at.signature) + "(...)'");
    edit_override_in(d, program_, at.signature.declared);
  }

  static std::string name(const Signature& s) { return (s.domain.empty() ? "ai.onnx" : s.domain) + "::" + s.name; }

  const Program& program_;
  Diagnostics& diagnostics_;
  std::map<std::tuple<std::string, std::string, int>, Entry> found_;
};

}  // namespace

std::string print(const Signature& s) {
  std::string text = "extern " + (s.domain.empty() ? "ai.onnx" : s.domain) + "::" + s.name;
  if (s.since_version != 1) text += fmt::format(" since {} ", s.since_version);
  if (!s.attributes.empty()) {
    text += "<";
    for (const AttrFormal& a : s.attributes) text += (&a == s.attributes.data() ? "" : ", ") + text_of(a);
    text += ">";
  }
  text += text_of(s.inputs, s.type_vars) + " -> " + text_of(s.outputs, s.type_vars);
  for (std::size_t i = 0; i < s.type_vars.size(); ++i) {
    bool tensor_only = true;
    for (const auto* list : {&s.inputs, &s.outputs}) {
      for (const Formal& f : *list) tensor_only &= f.type_var != static_cast<int>(i) || f.tensor_only;
    }
    text += (i == 0 ? " where " : " and ") + s.type_vars[i].name + " in " + types(s.type_vars[i].elems, tensor_only);
  }
  return text;
}

std::shared_ptr<const Operators> declare(const Program& program, Diagnostics& diagnostics) {
  return Declarations(program, diagnostics).run();
}

}  // namespace ampc::lang
