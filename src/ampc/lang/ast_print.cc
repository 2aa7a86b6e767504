#include "ampc/lang/ast.h"

#include <algorithm>

namespace ampc::lang::ast {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

template <typename T, typename F>
std::string joined(const std::vector<T>& list, F text) {
  std::string result;
  for (const T& item : list) {
    if (!result.empty()) result += ", ";
    result += text(item);
  }
  return result;
}

std::string text(const Word& word) { return word.text; }
std::string text(const Pattern& p) { return p.regex ? "/" + p.text + "/" : quoted(p.text); }
std::string text(const Op& op) {
  if (!op.qualified) return op.name;
  return (op.domain.empty() ? "ai.onnx" : op.domain) + "::" + op.name;
}
std::string text(const Operand& o) { return o.position ? std::to_string(*o.position) : o.name; }
std::string text(const Qualifiers& q) {
  const std::string levels = joined(q.levels, [](const Word& w) { return w.text; });
  const std::string dtypes = joined(q.dtypes, [](const Word& w) { return w.text; });
  return levels + (levels.empty() || dtypes.empty() ? "" : ", ") + dtypes;
}
std::string text(const FormalDeclaration& f) {
  return f.name.text + (f.variadic ? "...: " : f.optional ? "?: " : ": ") + (f.each ? "each " : "") + f.type.text;
}
std::string text(const AttributeDeclaration& a) {
  const std::string value = a.number ? " = " + a.number->text : a.text ? " = " + quoted(*a.text) : "";
  return a.name.text + (a.optional ? "?: " : ": ") + a.type.text + value;
}
template <typename T>
std::string texts(const std::vector<T>& list) {
  return joined(list, [](const T& item) { return text(item); });
}

std::string text(const Term& t) {
  switch (t.kind) {
    case Term::Kind::name:
      return t.name.text;
    case Term::Kind::call:
      return t.name.text + "(" + text(t.operand) + (t.index ? ", " + t.index->text : "") + ")";
    case Term::Kind::text:
      return quoted(t.text);
    case Term::Kind::number:
      break;
  }
  return t.number.text;
}

std::string text(const GraphPattern::Call& call) {
  const std::string arguments = joined(call.arguments, [](const GraphPattern::Argument& a) {
    switch (a.kind) {
      case GraphPattern::Argument::Kind::call:
        return text(a.call.front());
      case GraphPattern::Argument::Kind::number:
        return a.number.text;
      case GraphPattern::Argument::Kind::rest:
        return std::string("*");
      case GraphPattern::Argument::Kind::name:
        break;
    }
    return a.name.text;
  });
  return text(call.op) + "(" + arguments + ")" + (call.optional ? "?" : "");
}

// Parts that bind less tightly stand in parentheses.
std::string nested(const Predicate& p) {
  const bool bare = p.kind == Predicate::Kind::compare || p.kind == Predicate::Kind::is;
  return bare ? print(p) : "(" + print(p) + ")";
}

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void statement(const Statement& s) {
    doc(s.doc);
    indent();
    std::visit([this](const auto& node) { write(node); }, s.node);
    out_ += '\n';
  }

 private:
  void indent() { out_.append(depth_ * 2, ' '); }

  void doc(const std::string& text) {
    if (text.empty()) return;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      indent();
      out_ += "///" + (begin == end ? "" : " " + text.substr(begin, end - begin)) + "\n";
      begin = end + 1;
    }
  }

  void body(const std::vector<Statement>& statements) {
    if (statements.empty()) {
      out_ += " {}";
      return;
    }
    out_ += " {\n";
    ++depth_;
    for (const Statement& s : statements) statement(s);
    --depth_;
    indent();
    out_ += "}";
  }

  void write(const Version& n) { out_ += "amp " + n.number.text; }
  void write(const Import& n) {
    out_ += "import " + quoted(n.path.text);
    if (!n.domains.empty()) out_ += " for " + texts(n.domains);
  }
  void write(const Setting& n) { out_ += n.key.text + " " + n.value.text; }
  void write(const IoRule& n) { out_ += "io " + n.value.text + " " + texts(n.patterns); }
  void write(const LevelDefinition& n) {
    out_ += "level " + n.name.text;
    body(n.body);
  }
  void write(const LevelPart& n) { out_ += n.key.text + (n.value.text.empty() ? "" : " " + n.value.text); }
  void write(const Standing& s) {
    if (s.overriding) out_ += "override ";
    if (s.sealed) out_ += "sealed ";
  }
  void write(const List& n) {
    write(n.standing);
    out_ += std::string(spelling(n.verdict)) + " ";
    if (!n.qualifiers.empty()) out_ += text(n.qualifiers) + ": ";
    out_ += texts(n.ops);
    if (n.where) out_ += " where " + print(*n.where);
  }
  void write(const Fact& n) { out_ += std::string(spelling(n.fact)) + " " + texts(n.ops); }
  void write(const Optimizer& n) {
    out_ += "optimizer " + text(n.op) + "(" +
            joined(n.operands,
                   [](const OptimizerOperand& o) {
                     std::string parts;
                     for (const Word& w : o.parts) parts += " " + w.text;
                     return text(o.operand) + ":" + parts;
                   }) +
            ")";
  }
  void write(const Backward& n) {
    out_ += "backward " + text(n.pattern) + (n.doc ? " doc " + quoted(n.doc->text) : "");
  }
  void write(const Role& n) {
    write(n.standing);
    out_ += texts(n.ops);
    if (!n.qualifiers.empty()) out_ += " " + text(n.qualifiers) + ":";
    out_ += n.results ? " result " : " arg ";
    if (n.operands.every) out_ += n.operands.list.empty() ? "*" : "* except ";
    out_ += texts(n.operands.list) + " ";
    if (n.action == RoleAction::keep_fp32) {
      out_ += "keep " + n.type.text;
    } else if (n.action == RoleAction::store_fp32) {
      out_ += "store " + n.type.text;
    } else if (n.action == RoleAction::exact_from_integers) {
      out_ += "exact from " + n.from.text;
    } else {
      out_ += spelling(n.action);
    }
  }
  void write(const Alias& n) {
    out_ += "alias " + n.name.text;
    if (n.has_parameters) out_ += "(" + texts(n.parameters) + ")";
    out_ += " = " + joined(n.targets, [](const AliasTarget& t) {
              if (t.bindings.empty()) return text(t.op);
              return text(t.op) + "(" +
                     joined(t.bindings, [](const Binding& b) { return b.formal.text + ": " + b.parameter.text; }) + ")";
            });
  }
  void write(const Extern& n) {
    write(n.standing);
    out_ += "extern " + text(n.op);
    if (n.since) out_ += " since " + n.since->text;
    if (!n.attributes.empty()) out_ += (n.since ? " <" : "<") + texts(n.attributes) + ">";
    out_ += (n.since && n.attributes.empty() ? " (" : "(") + texts(n.inputs) + ") -> (" + texts(n.outputs) + ")";
    for (const TypeVariable& v : n.types) {
      out_ += (&v == n.types.data() ? " where " : " and ") + v.name.text + " in " + texts(v.types);
    }
  }
  void write(const NameRule& n) {
    constexpr const char* words[] = {"tensor", "node", "guard", "weight"};
    out_ += std::string(words[static_cast<std::size_t>(n.kind)]) + " " + texts(n.patterns);
    if (!n.action.text.empty()) out_ += " " + n.action.text;
    if (!n.type.text.empty()) out_ += " " + n.type.text;
  }
  void write(const WeightCondition& n) { out_ += "weight where " + print(*n.where) + " keep " + n.type.text; }
  void write(const GraphPattern& n) {
    write(n.standing);
    out_ += "pattern " + (n.qualifiers.empty() ? "" : text(n.qualifiers) + ": ") + n.name.text;
    if (n.action.text == "off") {
      out_ += " off";
      return;
    }
    out_ += "(" + texts(n.parameters) + ") {" + (n.steps.empty() ? "" : "\n");
    ++depth_;
    for (const GraphPattern::Step& s : n.steps) {
      indent();
      out_ += texts(s.results) + " = ";
      for (const GraphPattern::Alternative& a : s.alternatives) {
        if (&a != &s.alternatives.front()) out_ += " | ";
        out_ += text(a.call) + (a.where ? " where " + print(*a.where) : "");
      }
      out_ += '\n';
    }
    --depth_;
    if (!n.steps.empty()) indent();
    out_ += "} " + n.action.text + (n.type.text.empty() ? "" : " " + n.type.text);
  }
  void write(const Scope& n) {
    out_ += "scope " + texts(n.patterns);
    body(n.body);
  }
  void write(const Block& n) {
    out_ += "block " + quoted(n.path.text);
    if (n.has_range) out_ += " nodes [" + n.first.text + "," + n.last.text + ")";
    body(n.body);
  }

  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string_view spelling(Verdict verdict) {
  constexpr std::string_view words[] = {"allow", "deny", "follow", "unsupported", "leave"};
  return words[static_cast<std::size_t>(verdict)];
}

std::string_view spelling(RoleAction action) {
  constexpr std::string_view words[] = {"keep fp32",           "store fp32", "exact",
                                        "exact from integers", "saturate",   "factor"};
  return words[static_cast<std::size_t>(action)];
}

std::string_view spelling(FactRule::Fact fact) {
  constexpr std::string_view words[] = {"bounded", "collective", "commutes", "moves"};
  return words[static_cast<std::size_t>(fact)];
}

std::string_view spelling(OptimizerRule::Part part) {
  constexpr std::string_view words[] = {"parameter", "gradient", "state"};
  return words[static_cast<std::size_t>(part)];
}

std::string_view spelling(TensorAction action) {
  constexpr std::string_view words[] = {"keep fp32", "store fp32", "scale"};
  return words[static_cast<std::size_t>(action)];
}

std::string_view spelling(lang::Predicate::Op op) {
  constexpr std::string_view words[] = {"==", "!=", "<", "<=", ">", ">="};
  return words[static_cast<std::size_t>(op)];
}

std::string print(const Predicate& p) {
  switch (p.kind) {
    case Predicate::Kind::compare:
      return text(p.left) + " " + std::string(spelling(p.op)) + " " + text(p.right);
    case Predicate::Kind::is:
      return text(p.left) + " is " + p.property.text;
    case Predicate::Kind::none_of:
      return "not " + nested(p.parts[0]);
    case Predicate::Kind::all:
    case Predicate::Kind::any:
      break;
  }
  std::string result;
  for (const Predicate& part : p.parts) {
    if (!result.empty()) result += p.kind == Predicate::Kind::all ? " and " : " or ";
    result += nested(part);
  }
  return result;
}

std::string print(const Statement& statement) {
  Printer printer;
  printer.statement(statement);
  return printer.take();
}

std::string print(const File& file) {
  Printer printer;
  for (const Statement& s : file.statements) printer.statement(s);
  return printer.take();
}

}  // namespace ampc::lang::ast
