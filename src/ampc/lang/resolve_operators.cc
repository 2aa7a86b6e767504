// Statements to rules: what is said of operators and their operands.
#include <algorithm>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/resolver.h"

namespace ampc::lang {

namespace {

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

std::optional<When> Resolver::when(const ast::Qualifiers& q, const Context& context) {
  When result;
  bool ok = true;
  if (!q.levels.empty()) {
    result.levels = 0;
    for (const ast::Word& w : q.levels) {
      if (context.level) {
        diagnostics_.error(codes::kMisplaced, "in the definition of a level, every list holds at that level")
            .at(w.span)
            .fix("leave the level out, or move the list out of the braces");
        return std::nullopt;
      }
      // Operators before the colon: the first of them says it.
      if (!ok && names_.is_operator(w.text)) continue;
      const auto index = level(w);
      ok = ok && index.has_value();
      if (index) result.levels |= std::uint32_t{1} << *index;
    }
  }
  if (context.level) result.levels = std::uint32_t{1} << *context.level;
  if (!q.dtypes.empty()) {
    result.fp16 = std::any_of(q.dtypes.begin(), q.dtypes.end(), [](const ast::Word& w) { return w.text == "fp16"; });
    result.bf16 = std::any_of(q.dtypes.begin(), q.dtypes.end(), [](const ast::Word& w) { return w.text == "bf16"; });
  }
  if (!ok) return std::nullopt;
  return result;
}

void Resolver::statement(const ast::List& n, const ast::Statement& s, const Context& context) {
  if (is_follow_mode(n)) {
    const ast::Word value{n.ops[0].name, n.ops[0].span};
    statement(ast::Setting{{"follow", s.keyword}, value}, s, context);
    return;
  }
  const auto holds = when(n.qualifiers, context);
  for (const ast::Op& op : n.ops) {
    for (const Target& target : names_.operators(op)) {
      OpEntry entry;
      entry.rule.verdict = n.verdict;
      entry.rule.op = target.op;
      entry.rule.scope = context.scope;
      entry.rule.span = op.span;
      entry.unit = context.unit;
      entry.overriding = n.standing.overriding;
      entry.sealed = n.standing.sealed;
      entry.through_alias = target.alias != nullptr;
      entry.statement = s.keyword;
      if (n.where) {
        entry.rule.where = resolve_predicate(*n.where, target, names_, diagnostics_);
        if (!entry.rule.where) continue;
        entry.where = print(*entry.rule.where);
      }
      if (n.verdict == Verdict::allow) check_lowerable(target, n.qualifiers, op.span);
      if (!holds) continue;
      entry.rule.when = *holds;
      draft_.ops.push_back(std::move(entry));
    }
  }
}

bool Resolver::is_follow_mode(const ast::List& n) {
  return n.verdict == Verdict::follow && !n.standing.overriding && !n.standing.sealed && n.qualifiers.empty() &&
         !n.where && n.ops.size() == 1 && !n.ops[0].qualified && (n.ops[0].name == "any" || n.ops[0].name == "last");
}

// Does some version of the operator take or make this type where it also takes fp32?
bool Resolver::lowers(const Target& target, ElemType low) {
  const auto admits = [&](const Formal& f) { return f.elems.contains(low); };
  return std::any_of(target.versions.begin(), target.versions.end(), [&](const Signature* v) {
    return std::any_of(v->inputs.begin(), v->inputs.end(), admits) ||
           std::any_of(v->outputs.begin(), v->outputs.end(), admits);
  });
}

// The other place of a fault, where a declaration is behind it.
void Resolver::show_declaration(Diagnostic& d, const Target& target) {
  if (target.versions.back()->is_declared()) d.also(target.versions.back()->declared, "declared here");
}

void Resolver::check_lowerable(const Target& target, const ast::Qualifiers& q, Span span) {
  if (!target.known()) return;
  std::vector<std::string> never;
  for (const ast::Word& w : q.dtypes) {
    if (!lowers(target, w.text == "fp16" ? ElemType::float16 : ElemType::bfloat16)) never.push_back(w.text);
  }
  if (!never.empty()) {
    auto& d = diagnostics_.error(codes::kNeverLow,
                                 "no opset has " + spelling(target.op) + " in " + list_of(never, false, "or"));
    d.fix("leave it out of this list, or say 'deny' for the type");
    show_declaration(
        d.at(span, "cannot be allowed for " + std::string(never.size() == 1 ? "this type" : "these types")), target);
  }
  if (q.dtypes.empty() && !lowers(target, ElemType::float16) && !lowers(target, ElemType::bfloat16)) {
    auto& d = diagnostics_.warning(codes::kNeverLow, "'allow' has no effect on " + spelling(target.op));
    d.fix("leave it out of this list");
    show_declaration(d.at(span, "no opset has it in fp16 or bf16"), target);
  }
}

void Resolver::statement(const ast::Fact& n, const ast::Statement& s, const Context& context) {
  if (!only_in_file(s, context, quote(ast::spelling(n.fact)))) return;
  for (const ast::Op& op : n.ops) {
    for (const Target& target : names_.operators(op)) draft_.rules.facts.push_back({n.fact, target.op, op.span});
  }
}

void Resolver::statement(const ast::Role& n, const ast::Statement& s, const Context& context) {
  bool ok = true;
  if (n.action == RoleAction::keep_fp32 || n.action == RoleAction::store_fp32) ok = is_fp32(n.type);
  if (n.action == RoleAction::exact_from_integers && n.from.text != "integers") {
    diagnostics_.error(codes::kBadValue, "'exact from' has no value " + quote(n.from.text))
        .at(n.from.span, did_you_mean(n.from.text, std::vector<std::string>{"integers"}))
        .fix("write 'exact', or 'exact from integers'");
    ok = false;
  }
  if (n.results && n.action != RoleAction::keep_fp32 && n.action != RoleAction::exact_from_integers) {
    diagnostics_.error(codes::kBadValue, "a result can be kept in fp32 or be exact from integers, nothing else")
        .at(s.span)
        .fix("write 'keep fp32', or say it of an operand: 'arg'");
    ok = false;
  }
  const auto holds = when(n.qualifiers, context);
  for (const ast::Op& op : n.ops) {
    const std::vector<Target> targets = names_.operators(op);
    for (const Target& target : targets) {
      RoleEntry entry;
      entry.rule.op = target.op;
      entry.rule.results = n.results;
      entry.rule.every = n.operands.every;
      entry.rule.except = n.operands.every && !n.operands.list.empty();
      entry.rule.action = n.action;
      entry.rule.scope = context.scope;
      entry.rule.span = s.span;
      entry.unit = context.unit;
      entry.overriding = n.standing.overriding;
      entry.sealed = n.standing.sealed;
      entry.statement = s.keyword;
      entry.target = target;
      bool complete = true;
      for (const ast::Operand& operand : n.operands.list) {
        if (stands_elsewhere(target, targets, operand, n.results)) continue;
        if (is_attribute(target, n, operand)) {
          entry.rule.attributes.push_back(operand.name);
          continue;
        }
        auto ref = names_.operand(target, operand, n.results);
        if (!ref || (!n.operands.every && !can_be_float(target, *ref, n.results, operand))) {
          complete = false;
          continue;
        }
        if (const OperandRef* first = named_already(entry, *ref)) {
          if (&op == &n.ops.front() && &target == &targets.front()) {
            diagnostics_
                .warning(codes::kDuplicate, std::string(n.results ? "the result" : "the operand") + " is named twice")
                .at(operand.span)
                .also(first->span, "here as well")
                .fix("leave one of the two out");
          }
          continue;
        }
        entry.rule.operands.push_back(std::move(*ref));
      }
      if (complete && entry.rule.except && excepts_all(target, entry.rule)) {
        diagnostics_
            .error(codes::kNothingLeft, "every " + std::string(n.results ? "result" : "operand") + " of " +
                                            spelling(target.op) +
                                            " that may be fp32 is excepted: the role is about none")
            .at(n.operands.span)
            .fix("leave the statement out, or except fewer");
        continue;
      }
      const bool about_none = !n.operands.every && entry.rule.operands.empty() && entry.rule.attributes.empty();
      if (!complete || !ok || !holds || about_none) continue;
      entry.rule.when = *holds;
      draft_.roles.push_back(std::move(entry));
    }
  }
}

// `LayerNormalization arg epsilon keep fp32`: a number in an attribute is an operand that is always known.
bool Resolver::is_attribute(const Target& target, const ast::Role& n, const ast::Operand& operand) {
  if (n.results || n.operands.every || n.action != RoleAction::keep_fp32 || operand.position || !target.known()) {
    return false;
  }
  const AttrFormal* attribute = Names::attribute(target, operand.name);
  return attribute != nullptr && attribute->kind == AttrKind::floating && !Names::formal(target, operand.name, false);
}

// The operand of the role that this one is too: `arg 1, X`.
const OperandRef* Resolver::named_already(const RoleEntry& entry, const OperandRef& ref) {
  const Signature* newest = entry.target.known() ? entry.target.versions.back() : nullptr;
  for (const OperandRef& other : entry.rule.operands) {
    if (other.position == ref.position && other.name == ref.name) return &other;
    if (newest == nullptr) continue;
    const Formal* a = Names::find_formal(*newest, other, entry.rule.results);
    if (a != nullptr && !a->variadic && a == Names::find_formal(*newest, ref, entry.rule.results)) return &other;
  }
  return nullptr;
}

bool Resolver::excepts_all(const Target& target, const RoleRule& rule) {
  if (!target.known()) return false;
  return std::all_of(target.versions.begin(), target.versions.end(), [&](const Signature* version) {
    const std::vector<Formal>& formals = rule.results ? version->outputs : version->inputs;
    return std::all_of(formals.begin(), formals.end(), [&](const Formal& f) {
      if (f.tensor_only && !f.elems.contains(ElemType::float32)) return true;
      return std::any_of(rule.operands.begin(), rule.operands.end(), [&](const OperandRef& ref) {
        return !f.variadic && Names::find_formal(*version, ref, rule.results) == &f;
      });
    });
  });
}

// An alias for several operators: a parameter may stand for an operand of some of them only.
bool Resolver::stands_elsewhere(const Target& target, const std::vector<Target>& targets, const ast::Operand& operand,
                                bool results) {
  if (results || !target.has_parameters() || targets.size() < 2) return false;
  std::string name = operand.name;
  const std::vector<ast::Word>& list = target.alias->parameters;
  if (operand.position) {
    if (*operand.position < 1 || *operand.position > static_cast<std::int64_t>(list.size())) return false;
    name = list[static_cast<std::size_t>(*operand.position - 1)].text;
  }
  return !target.parameters.contains(name) &&
         std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return t.parameters.contains(name); });
}

bool Resolver::can_be_float(const Target& target, const OperandRef& ref, bool results, const ast::Operand& operand) {
  if (!target.known()) return true;
  ElemTypeSet seen;
  for (const Signature* version : target.versions) {
    const Formal* f = Names::find_formal(*version, ref, results);
    if (f == nullptr) continue;
    if (!f->tensor_only || f->elems.contains(ElemType::float32)) return true;
    for (unsigned t = 1; t <= kLastElemType; ++t) {
      if (f->elems.contains(static_cast<ElemType>(t))) seen.insert(static_cast<ElemType>(t));
    }
  }
  std::vector<std::string> types;
  for (unsigned t = 1; t <= static_cast<unsigned>(ElemType::bfloat16); ++t) {
    if (seen.contains(static_cast<ElemType>(t))) types.emplace_back(short_name(static_cast<ElemType>(t)));
  }
  const std::string what =
      operand.position ? (results ? "result " : "operand ") + std::to_string(*operand.position) : quote(operand.name);
  auto& d =
      diagnostics_.error(codes::kNeverFloat, what + " of " + spelling(target.op) + " is never fp32").at(operand.span);
  d.label =
      "it is " + (types.size() > 6 || types.empty() ? "of other types" : list_of(types, false)) + " in every opset";
  std::vector<std::string> others;
  for (const Formal& f : results ? target.versions.back()->outputs : target.versions.back()->inputs) {
    if (!f.tensor_only || f.elems.contains(ElemType::float32)) others.push_back(f.name);
  }
  d.fix(others.empty() ? "leave it out: no " + std::string(results ? "result" : "operand") + " of it is ever fp32"
                       : "leave it out; what may be fp32 is " + list_of(others, false, "and"));
  show_declaration(d, target);
  return false;
}

}  // namespace ampc::lang
