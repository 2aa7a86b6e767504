// Statements to rules: what is said of training graphs (R27).
#include <algorithm>
#include <map>
#include <set>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/ast.h"
#include "ampc/lang/resolver.h"

namespace ampc::lang {

namespace {

using Part = OptimizerRule::Part;

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

// `gradients` is as clear as `gradient`, but one spelling is enough.
std::optional<Part> part_of(const ast::Word& word) {
  for (const Part p : {Part::parameter, Part::gradient, Part::state}) {
    if (word.text == ast::spelling(p)) return p;
  }
  return std::nullopt;
}

bool has(const OptimizerRule& rule, Part part) {
  return std::any_of(rule.slots.begin(), rule.slots.end(), [&](const OptimizerRule::Slot& s) {
    return std::find(s.parts.begin(), s.parts.end(), part) != s.parts.end();
  });
}

}  // namespace

namespace {

// The name of an operand that was written by its number.
std::string canonical(const OperandRef& ref, const Target& target) {
  const Formal* f = target.known() ? Names::find_formal(*target.versions.back(), ref, false) : nullptr;
  return f == nullptr || f->variadic ? print(ref) : f->name;
}

}  // namespace

void Resolver::statement(const ast::Optimizer& n, const ast::Statement& s, const Context& context) {
  if (!only_in_file(s, context, "'optimizer'")) return;
  for (const Target& target : names_.operators(n.op)) {
    OptimizerRule rule;
    rule.op = target.op;
    rule.span = n.op.span;
    std::map<std::string, Span> seen;
    bool ok = true;
    for (const ast::OptimizerOperand& o : n.operands) {
      auto one = slot(o, target);
      ok = ok && one.has_value();
      if (!one) continue;
      const auto [first, fresh] = seen.try_emplace(canonical(one->operand, target), o.operand.span);
      if (!fresh) {
        diagnostics_.error(codes::kDuplicate, quote(first->first) + " stands here twice")
            .at(o.operand.span)
            .also(first->second, "here first")
            .fix("an operand is one of the three: leave one of the two out");
        ok = false;
      }
      rule.slots.push_back(std::move(*one));
    }
    if (!ok) continue;
    if (!has(rule, Part::gradient)) {
      diagnostics_
          .error(codes::kBadValue,
                 "no operand of the optimizer " + quote(spelling(target.op)) + " is said to be a gradient")
          .at(s.span)
          .fix(
              "an optimizer is an operator that changes parameters or a state by a gradient: say which operand that "
              "is");
      continue;
    }
    draft_.rules.optimizers.push_back(std::move(rule));
  }
}

std::optional<OptimizerRule::Slot> Resolver::slot(const ast::OptimizerOperand& n, const Target& target) {
  OptimizerRule::Slot result;
  bool ok = true;
  for (const ast::Word& word : n.parts) {
    const auto part = part_of(word);
    if (part) {
      result.parts.push_back(*part);
      continue;
    }
    auto& d =
        diagnostics_.error(codes::kBadValue, "an operand of an optimizer is no " + quote(word.text)).at(word.span);
    const std::vector<std::string> parts = {"parameter", "gradient", "state"};
    suggest(d, word.text, parts);
    d.fix("it is " + list_of(parts) + "; operands that are none of them, like a learning rate, are left out");
    ok = false;
  }
  auto ref = names_.operand(target, n.operand, false);
  if (!ref || !can_be_float(target, *ref, false, n.operand)) return std::nullopt;
  if (result.parts.size() > 1 && target.known()) {
    const bool variadic = std::any_of(target.versions.begin(), target.versions.end(), [&](const Signature* v) {
      const Formal* f = Names::find_formal(*v, *ref, false);
      return f != nullptr && f->variadic;
    });
    if (!variadic) {
      diagnostics_
          .error(codes::kBadValue, quote(print(*ref)) + " of " + spelling(target.op) + " is one operand, so it is " +
                                       std::string(ast::spelling(result.parts[0])) + " or " +
                                       std::string(ast::spelling(result.parts[1])) + ", not both")
          .at({n.parts.front().span.file, n.parts.front().span.begin, n.parts.back().span.end})
          .fix("several words say what the equal stretches of a variadic operand are");
      ok = false;
    }
  }
  if (!ok) return std::nullopt;
  result.operand = std::move(*ref);
  return result;
}

void Resolver::statement(const ast::Backward& n, const ast::Statement& s, const Context& context) {
  if (!only_in_file(s, context, "'backward'")) return;
  auto expression = pattern(n.pattern);
  if (!expression) return;
  if (expression->groups() != 1) {
    diagnostics_
        .error(codes::kBadPattern, "this expression has " +
                                       std::string(expression->groups() == 0 ? "no group" : "more than one group") +
                                       ", and one is to name the forward node")
        .at(n.pattern.span)
        .fix(
            "put the part of a backward node's name that is the forward node's into parentheses, as in "
            "/(.+)_Grad\\/.+/; parentheses that only group are written (?:...)");
    return;
  }
  draft_.rules.backward.push_back({std::move(*expression), n.doc ? n.doc->text : std::string(), n.pattern.span});
}

void settle_training(Draft& draft, Diagnostics& diagnostics) {
  std::map<OpName, OptimizerRule> known;
  std::vector<OptimizerRule> kept;
  for (OptimizerRule& rule : draft.rules.optimizers) {
    const auto [it, fresh] = known.try_emplace(rule.op, rule);
    if (fresh) {
      kept.push_back(std::move(rule));
      continue;
    }
    if (print(it->second) != print(rule)) {
      diagnostics
          .error(codes::kContradiction,
                 "two statements say different things of the optimizer " + quote(spelling(rule.op)))
          .at(rule.span)
          .also(it->second.span, "the other one")
          .fix("remove one of the two");
    } else if (it->second.span.file == rule.span.file) {
      diagnostics.warning(codes::kDuplicate, quote(spelling(rule.op)) + " is said to be an optimizer twice")
          .at(rule.span)
          .also(it->second.span, "here as well")
          .fix("leave one of the two out");
    }
  }
  draft.rules.optimizers = std::move(kept);
}

}  // namespace ampc::lang
