// Statements to rules: graph patterns (R34). Names become values, operators and operands are held against the schemas.
#include <algorithm>
#include <map>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/resolver.h"

namespace ampc::lang {

namespace {

constexpr std::size_t kMostCalls = 64;

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string count_of(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

class PatternResolver {
 public:
  PatternResolver(const ast::GraphPattern& pattern, const Names& names, Diagnostics& diagnostics)
      : pattern_(pattern), names_(names), diagnostics_(diagnostics) {}

  /// Nothing where something was reported.
  std::optional<PatternRule> run() {
    rule_.name = pattern_.name.text;
    rule_.span = pattern_.name.span;
    for (const ast::Word& p : pattern_.parameters) define(p, PatternRule::kAnything, 0);
    if (pattern_.steps.empty()) {
      fail(codes::kExpected, "the pattern " + quote(rule_.name) + " has no steps", rule_.span)
          .fix("a step names what an operator makes: y = Div(x, r)");
    }
    for (const ast::GraphPattern::Step& s : pattern_.steps) step(s);
    if (!failed_) check_read();
    if (calls_ > kMostCalls) {
      fail(codes::kTooDeep, "a pattern has at most " + count_of(kMostCalls, "call"), rule_.span)
          .fix("cut it into two patterns");
    }
    if (failed_) return std::nullopt;
    return std::move(rule_);
  }

 private:
  Diagnostic& fail(std::string_view code, std::string message, Span span) {
    failed_ = true;
    return diagnostics_.error(code, std::move(message)).at(span);
  }

  std::uint32_t add_value(std::string name, std::uint32_t step, std::size_t slot) {
    rule_.values.push_back({std::move(name), step, static_cast<std::uint32_t>(slot)});
    return static_cast<std::uint32_t>(rule_.values.size() - 1);
  }

  std::uint32_t define(const ast::Word& name, std::uint32_t step, std::size_t slot) {
    if (name.text == "_") return PatternRule::kAnything;
    const std::uint32_t value = add_value(name.text, step, slot);
    const auto [it, fresh] = known_.try_emplace(name.text, Known{value, name.span, false});
    if (!fresh) {
      auto& d = fail(codes::kDefinedTwice, quote(name.text) + " is bound twice in the pattern " + quote(rule_.name),
                     name.span)
                    .also(it->second.span, "first here");
      d.fix(step == PatternRule::kAnything ? "give one of the two another name"
                                           : "alternatives of one value stand in one step: s = Pow(x, 2) | Mul(x, x)");
    }
    return value;
  }

  void step(const ast::GraphPattern::Step& s) {
    std::vector<PatternRule::Call> calls;
    for (const auto& a : s.alternatives) call(a.call, a.where ? &*a.where : nullptr, s.results.size(), &calls);
    const auto at = static_cast<std::uint32_t>(rule_.steps.size());
    PatternRule::Step made{std::move(calls), {}, s.span};
    for (std::size_t i = 0; i < s.results.size(); ++i) made.results.push_back(define(s.results[i], at, i));
    rule_.steps.push_back(std::move(made));
    rule_.root = at;
    if (&s != &pattern_.steps.back()) return;
    for (const auto& a : s.alternatives) {
      if (a.call.optional) {
        fail(codes::kMisplaced, "the last step is what a pattern is found by: it cannot be missing", a.call.span)
            .fix("leave '?' out");
      }
    }
  }

  /// A call within a call: a step without a name.
  std::uint32_t nested(const ast::GraphPattern::Call& c) {
    std::vector<PatternRule::Call> calls;
    call(c, nullptr, 1, &calls);
    const auto at = static_cast<std::uint32_t>(rule_.steps.size());
    const std::uint32_t value = add_value({}, at, 0);
    rule_.steps.push_back({std::move(calls), {value}, c.span});
    return value;
  }

  void call(const ast::GraphPattern::Call& c, const ast::Predicate* where, std::size_t results,
            std::vector<PatternRule::Call>* calls) {
    ++calls_;
    if (c.optional && results > 1) {
      fail(codes::kMisplaced, "a step with several results cannot be missing", c.span).fix("leave '?' out");
    }
    const std::vector<Target> targets = names_.operators(c.op);
    failed_ |= targets.empty();
    const std::vector<PatternRule::Argument> values = arguments(c);
    for (const Target& target : targets) {
      PatternRule::Call one;
      one.op = target.op;
      one.optional = c.optional;
      if (!bind(c, target, values, &one)) continue;
      for (std::size_t i = 1; i < results; ++i) {
        ast::Operand result;
        result.position = static_cast<std::int64_t>(i + 1);
        result.span = c.op.span;
        failed_ |= !names_.operand(target, result, true);
      }
      if (where != nullptr) {
        one.where = resolve_predicate(*where, target, names_, diagnostics_);
        failed_ |= !one.where;
      }
      calls->push_back(std::move(one));
    }
  }

  /// What stands at the operands, as far as no operator is asked.
  std::vector<PatternRule::Argument> arguments(const ast::GraphPattern::Call& c) {
    using Kind = ast::GraphPattern::Argument::Kind;
    std::vector<PatternRule::Argument> result;
    for (const auto& a : c.arguments) {
      PatternRule::Argument one;
      switch (a.kind) {
        case Kind::name:
          one.value = named(a.name);
          break;
        case Kind::call:
          one.value = nested(a.call.front());
          break;
        case Kind::number:
          one.constant = a.number.value;
          break;
        case Kind::rest:
          if (&a != &c.arguments.back()) {
            fail(codes::kMisplaced, "'*' stands for the operands that follow: nothing stands behind it", a.span)
                .fix("write '_' for one operand that may be anything");
          }
          continue;
      }
      result.push_back(one);
    }
    const bool nameless = c.arguments.empty() || c.arguments.front().kind == Kind::rest ||
                          (c.arguments.front().kind == Kind::name && c.arguments.front().name.text == "_");
    if (c.optional && nameless) {
      fail(codes::kMisplaced, "where this is missing its first operand stands in its place: it needs a name", c.span)
          .fix("write a parameter or a step as its first operand: " + c.op.name + "(x)?");
    }
    return result;
  }

  std::uint32_t named(const ast::Word& name) {
    if (name.text == "_") return PatternRule::kAnything;
    if (const auto it = known_.find(name.text); it != known_.end()) {
      it->second.read = true;
      return it->second.value;
    }
    for (const auto& s : pattern_.steps) {
      for (const ast::Word& later : s.results) {
        if (later.text != name.text) continue;
        fail(codes::kUnknownName, quote(name.text) + " is used before it is bound", name.span)
            .also(later.span, "bound here")
            .fix("a step reads parameters and the steps before it");
        return PatternRule::kAnything;
      }
    }
    std::vector<std::string> names;
    for (const auto& [text, known] : known_) names.push_back(text);
    auto& d =
        fail(codes::kUnknownName, "the pattern " + quote(rule_.name) + " binds no " + quote(name.text), name.span);
    suggest(d, name.text, names);
    if (d.label.empty()) d.fix("a value that the pattern is given is a parameter: list it behind the pattern's name");
    return PatternRule::kAnything;
  }

  /// Operands by position, and whether the operator takes so many.
  bool bind(const ast::GraphPattern::Call& c, const Target& target, const std::vector<PatternRule::Argument>& values,
            PatternRule::Call* into) {
    bool ok = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].value == PatternRule::kAnything && !values[i].constant && stands_for_nothing(target, i)) continue;
      ast::Operand operand;
      operand.position = static_cast<std::int64_t>(i + 1);
      operand.span = c.arguments[i].span;
      auto ref = names_.operand(target, operand, false);
      if (!ref) {
        failed_ = true;
        ok = false;
        break;
      }
      into->arguments.push_back(values[i]);
      into->arguments.back().operand = std::move(*ref);
    }
    into->more = values.size() != c.arguments.size();
    if (!ok) return false;
    return into->more || enough(c, target, values.size());
  }

  /// `layer_norm(x, _, weight)`: a parameter of the alias that is no operand of the operator.
  static bool stands_for_nothing(const Target& target, std::size_t i) {
    return target.has_parameters() && i < target.alias->parameters.size() &&
           !target.parameters.contains(target.alias->parameters[i].text);
  }

  bool enough(const ast::GraphPattern::Call& c, const Target& target, std::size_t given) {
    if (!target.known() || target.has_parameters()) return true;
    std::size_t least = given + 1;
    for (const Signature* version : target.versions) {
      std::size_t needed = 0;
      for (const Formal& f : version->inputs) needed += f.optional ? 0 : 1;
      least = std::min(least, needed);
    }
    if (given >= least) return true;
    std::vector<std::string> names;
    for (const Formal& f : target.versions.back()->inputs) {
      if (!f.optional) names.push_back(f.name);
    }
    fail(codes::kNoSuchPosition,
         spelling(target.op) + " needs " + count_of(names.size(), "operand") + ", and " +
             (given == 0 ? std::string("none") : std::to_string(given)) + (given == 1 ? " is" : " are") + " given",
         c.span)
        .fix("it needs " + list_of(names, false, "and") + "; '_' stands for any operand, '*' for all that follow");
    return false;
  }

  /// Every parameter and every step but the last is read.
  void check_read() {
    if (pattern_.steps.empty()) return;
    for (const ast::Word& p : pattern_.parameters) {
      const auto it = known_.find(p.text);
      if (it == known_.end() || it->second.read) continue;
      fail(codes::kUnboundParameter, "no step reads the parameter " + quote(p.text), p.span)
          .fix("a parameter is what the pattern is given: read it in a step, or leave it out");
    }
    for (const auto& s : pattern_.steps) {
      if (&s == &pattern_.steps.back()) continue;
      const bool read = std::any_of(s.results.begin(), s.results.end(), [&](const ast::Word& w) {
        const auto it = known_.find(w.text);
        return it != known_.end() && it->second.read;
      });
      if (read) continue;
      fail(codes::kUnboundParameter, "no step reads " + quote(s.results.front().text), s.span)
          .fix("a pattern is what its last step is computed from: read this in a later step, or leave it out");
    }
  }

  struct Known {
    std::uint32_t value = 0;
    Span span;
    bool read = false;
  };

  const ast::GraphPattern& pattern_;
  const Names& names_;
  Diagnostics& diagnostics_;
  PatternRule rule_;
  std::map<std::string, Known> known_;
  std::size_t calls_ = 0;
  bool failed_ = false;
};

}  // namespace

void Resolver::statement(const ast::GraphPattern& n, const ast::Statement& s, const Context& context) {
  const auto holds = when(n.qualifiers, context);
  PatternEntry entry;
  entry.unit = context.unit;
  entry.overriding = n.standing.overriding;
  entry.sealed = n.standing.sealed;
  entry.statement = s.keyword;
  entry.off = n.action.text == "off";
  if (entry.off) {
    if (!n.standing.overriding) {
      diagnostics_.error(codes::kMisplaced, "'off' takes an imported pattern away")
          .at(n.action.span)
          .fix("write override pattern " + n.name.text + " off");
      return;
    }
    entry.rule.name = n.name.text;
    entry.rule.span = n.name.span;
  } else {
    const bool known = pattern_action(n, &entry.rule);
    const PatternRule::Action action = entry.rule.action;
    auto rule = PatternResolver(n, names_, diagnostics_).run();
    if (!rule || !known) return;
    entry.rule = std::move(*rule);
    entry.rule.action = action;
  }
  if (!holds) return;
  entry.rule.scope = context.scope;
  entry.rule.when = *holds;
  draft_.patterns.push_back(std::move(entry));
}

bool Resolver::pattern_action(const ast::GraphPattern& n, PatternRule* rule) {
  if (n.action.text == "keep") return is_fp32(n.type);
  if (n.action.text == "low" || n.action.text == "follow") {
    rule->action = n.action.text == "low" ? PatternRule::Action::low : PatternRule::Action::follow;
    return true;
  }
  auto& d = diagnostics_
                .error(codes::kBadValue,
                       "a pattern is kept in fp32, lowered or follows its operands, not " + quote(n.action.text))
                .at(n.action.span);
  suggest(d, n.action.text, std::vector<std::string>{"low", "keep", "follow"});
  if (!d.edits.empty() && d.edits.back().text == "keep") d.edits.back().text = "keep fp32";
  d.fix("write 'keep fp32', 'low' or 'follow'");
  return false;
}

}  // namespace ampc::lang
