// Rules as text: equal sets of rules print equal text.
#include <fmt/format.h>

#include <algorithm>

#include "ampc/lang/ast.h"
#include "ampc/lang/declare.h"
#include "ampc/lang/draft.h"

namespace ampc::lang {

namespace {

std::string quoted(const NamePattern& p) { return p.is_regex() ? "/" + p.text() + "/" : "\"" + p.text() + "\""; }

std::string print(const Term& t) {
  switch (t.kind) {
    case Term::Kind::attribute:
      return t.name;
    case Term::Kind::operand:
      return "operand " + lang::print(t.operand);
    case Term::Kind::rank:
      return "rank(" + lang::print(t.operand) + ")";
    case Term::Kind::dim:
      return fmt::format("dim({}, {})", lang::print(t.operand), t.number);
    case Term::Kind::size:
      return "size(" + lang::print(t.operand) + ")";
    case Term::Kind::type:
      return "type(" + lang::print(t.operand) + ")";
    case Term::Kind::number:
      return fmt::format("{}", t.number);
    case Term::Kind::text:
      return "\"" + t.text + "\"";
    case Term::Kind::opset:
      break;
  }
  return "opset";
}

class Dumper {
 public:
  explicit Dumper(const RuleSet& rules) : rules_(rules) {}

  std::string run() {
    std::string out;
    for (const Level& level : rules_.levels) out += this->level(level);
    for (ScopeId s = 0; s < rules_.scopes.size(); ++s) {
      std::vector<std::string> settings = settings_of(rules_.scopes[s].settings);
      for (const std::string& line : settings) lines_.push_back(prefix(s) + line);
    }
    flush(out);
    for (const Signature& s : rules_.operators->declared()) out += lang::print(s) + "\n";
    for (const OpRule& r : rules_.ops) {
      lines_.push_back(prefix(r.scope) + std::string(ast::spelling(r.verdict)) + " " + when(r.when, ": ") +
                       spelling(r.op) + (r.where ? " where " + lang::print(*r.where) : ""));
    }
    flush(out);
    for (const RoleRule& r : rules_.roles) lines_.push_back(prefix(r.scope) + role(r));
    for (const FactRule& r : rules_.facts) lines_.push_back(std::string(ast::spelling(r.fact)) + " " + spelling(r.op));
    flush(out);
    for (const TensorRule& r : rules_.tensors) {
      lines_.push_back(prefix(r.scope) + "tensor " + quoted(r.pattern) + (r.store ? " store fp32" : " keep fp32"));
    }
    for (const NodeRule& r : rules_.nodes) {
      lines_.push_back(prefix(r.scope) + "node " + quoted(r.pattern) + (r.low ? " low" : " keep fp32"));
    }
    for (const GuardRule& r : rules_.guards) lines_.push_back("guard " + quoted(r.pattern));
    for (const WeightRule& r : rules_.weights) lines_.push_back(prefix(r.scope) + weight(r));
    for (const IoRule& r : rules_.io)
      lines_.push_back(std::string(r.io == Io::low ? "io low " : "io keep ") + quoted(r.pattern));
    flush(out);
    return out;
  }

 private:
  void flush(std::string& out) {
    std::sort(lines_.begin(), lines_.end());
    lines_.erase(std::unique(lines_.begin(), lines_.end()), lines_.end());
    for (const std::string& line : lines_) out += line + "\n";
    lines_.clear();
  }

  static std::string level(const Level& level) {
    constexpr std::string_view weights[] = {"keep", "use", "low"};
    return fmt::format("level {} {{ default {}  weights {}{} }}\n", level.name, level.default_low ? "low" : "fp32",
                       weights[static_cast<std::size_t>(level.weights)], level.off ? "  off" : "");
  }

  std::string when(const When& w, std::string_view end) const {
    std::string text;
    if (w.levels != 0xffffffffU) {
      for (std::size_t i = 0; i < rules_.levels.size(); ++i) {
        if (((w.levels >> i) & 1U) != 0) text += (text.empty() ? "" : ", ") + rules_.levels[i].name;
      }
    }
    if (!w.fp16 || !w.bf16) text += std::string(text.empty() ? "" : ", ") + (w.fp16 ? "fp16" : "bf16");
    return text.empty() ? text : text + std::string(end);
  }

  std::string prefix(ScopeId id) const {
    if (id == kWholeModel) return {};
    const Scope& s = rules_.scopes[id];
    std::string text = prefix(s.parent);
    if (!s.block.empty() || s.patterns.empty()) {
      text += "block \"" + s.block + "\"";
      if (s.first != 0 || s.last != 0xffffffffU) text += fmt::format(" nodes [{},{})", s.first, s.last);
    } else {
      text += "scope ";
      std::vector<std::string> patterns;
      for (const NamePattern& p : s.patterns) patterns.push_back(quoted(p));
      std::sort(patterns.begin(), patterns.end());
      text += fmt::format("{}", fmt::join(patterns, ", "));
    }
    return text + ": ";
  }

  std::vector<std::string> settings_of(const Settings& s) const {
    std::vector<std::string> lines;
    const auto word = [&](const auto& value, std::string_view key, std::initializer_list<std::string_view> words) {
      if (value) lines.push_back(fmt::format("{} {}", key, *(words.begin() + static_cast<std::size_t>(*value))));
    };
    if (s.dtype) lines.push_back(fmt::format("dtype {}", short_name(*s.dtype)));
    if (s.level) lines.push_back("level " + rules_.levels[*s.level].name);
    word(s.promote, "promote", {"off", "on"});
    word(s.follow, "follow", {"any", "last"});
    word(s.gray, "gray", {"local", "cut"});
    word(s.io, "io", {"keep", "low"});
    word(s.overflow, "overflow", {"keep", "clamp", "inf", "error"});
    word(s.underflow, "underflow", {"keep", "flush"});
    word(s.functions, "functions", {"keep", "inline"});
    word(s.shared, "shared", {"fp32", "low", "both"});
    word(s.on_conflict, "on conflict", {"node", "store", "error"});
    word(s.rewrite_creators, "rewrite creators", {"off", "on"});
    word(s.rewrite_moved, "rewrite moved", {"off", "on"});
    word(s.rewrite_redundant, "rewrite redundant", {"off", "on"});
    return lines;
  }

  std::string role(const RoleRule& r) const {
    std::string text = spelling(r.op) + " " + when(r.when, ": ") + (r.results ? "result " : "arg ");
    if (r.every) text += r.operands.empty() ? "*" : "* except ";
    std::vector<std::string> operands;
    for (const OperandRef& ref : r.operands) operands.push_back(lang::print(ref));
    std::sort(operands.begin(), operands.end());
    return text + fmt::format("{} {}", fmt::join(operands, ", "), ast::spelling(r.action));
  }

  static std::string weight(const WeightRule& r) {
    if (r.pattern) return "weight " + quoted(*r.pattern) + " keep fp32";
    constexpr std::string_view measures[] = {"absmax", "underflow", "overflow", "size"};
    return fmt::format("weight where {} {} {} keep fp32", measures[static_cast<std::size_t>(*r.measure)],
                       ast::spelling(r.op), r.limit);
  }

  const RuleSet& rules_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string print(const OperandRef& operand) {
  return operand.position >= 0 ? std::to_string(operand.position + 1) : operand.name;
}

std::string print(const Predicate& p) {
  switch (p.kind) {
    case Predicate::Kind::compare:
      return print(p.left) + " " + std::string(ast::spelling(p.op)) + " " + print(p.right);
    case Predicate::Kind::is_weight:
      return print(p.operand) + " is weight";
    case Predicate::Kind::is_constant:
      return print(p.operand) + " is constant";
    case Predicate::Kind::is_given:
      return print(p.operand) + " is given";
    case Predicate::Kind::none_of:
      return p.parts.empty() ? "not ()" : "not (" + print(p.parts[0]) + ")";
    case Predicate::Kind::all:
    case Predicate::Kind::any:
      break;
  }
  std::vector<std::string> parts;
  for (const Predicate& part : p.parts) parts.push_back("(" + print(part) + ")");
  return fmt::format("{}", fmt::join(parts, p.kind == Predicate::Kind::all ? " and " : " or "));
}

std::string dump_rules(const RuleSet& rules) { return Dumper(rules).run(); }

}  // namespace ampc::lang
