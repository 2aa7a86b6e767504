// Statements to rules: what is said of names, weights, scopes and blocks.
#include <algorithm>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/idle.h"
#include "ampc/lang/resolver.h"

namespace ampc::lang {

namespace {

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

void Resolver::statement(const ast::NameRule& n, const ast::Statement& s, const Context& context) {
  using Kind = ast::NameRule::Kind;
  const char* what = n.kind == Kind::tensor  ? "a tensor rule"
                     : n.kind == Kind::node  ? "a node rule"
                     : n.kind == Kind::guard ? "a guard"
                                             : "a weight rule";
  if (!not_in_level(s, context, what)) return;
  if (n.kind == Kind::guard && !only_in_file(s, context, what)) return;
  bool ok = true;
  if (!n.type.text.empty()) ok = is_fp32(n.type);
  const bool scales = n.kind == Kind::tensor && n.type.text.empty();
  if (scales) {
    if (!only_in_file(s, context, "a loss scale")) return;
    ok = allowed(n.action, "a tensor rule", {"scale", "keep fp32", "store fp32"});
  }
  if (n.kind == Kind::node && n.action.text != "keep") {
    if (n.action.text != "low") {
      auto& d =
          diagnostics_.error(codes::kBadValue, "a node can be kept in fp32 or lowered, not " + quote(n.action.text))
              .at(n.action.span);
      suggest(d, n.action.text, std::vector<std::string>{"low", "keep"});
      if (!d.edits.empty() && d.edits.back().text == "keep") d.edits.back().text = "keep fp32";
      d.fix("write 'keep fp32' or 'low'");
      ok = false;
    }
  }
  for (const ast::Pattern& p : n.patterns) {
    auto one = pattern(p);
    if (!one || !ok) continue;
    switch (n.kind) {
      case Kind::tensor:
        draft_.rules.tensors.push_back({std::move(*one),
                                        scales                     ? TensorAction::scale
                                        : n.action.text == "store" ? TensorAction::store_fp32
                                                                   : TensorAction::keep_fp32,
                                        context.scope, p.span});
        break;
      case Kind::node:
        draft_.rules.nodes.push_back({std::move(*one), n.action.text == "low", context.scope, p.span});
        break;
      case Kind::guard:
        draft_.rules.guards.push_back({std::move(*one), p.span});
        break;
      case Kind::weight: {
        WeightRule rule;
        rule.pattern = std::move(*one);
        rule.scope = context.scope;
        rule.span = p.span;
        draft_.rules.weights.push_back(std::move(rule));
        break;
      }
    }
  }
}

void Resolver::statement(const ast::WeightCondition& n, const ast::Statement& s, const Context& context) {
  if (!not_in_level(s, context, "a weight rule")) return;
  const bool ok = is_fp32(n.type);
  auto test = weight_test(*n.where);
  if (!ok || !test) return;
  warn_if_idle(*test, n.where->span, diagnostics_);
  WeightRule rule;
  rule.where = std::move(*test);
  rule.scope = context.scope;
  rule.span = s.span;
  draft_.rules.weights.push_back(std::move(rule));
}

std::optional<WeightTest> Resolver::weight_test(const ast::Predicate& p) {
  using Kind = ast::Predicate::Kind;
  if (p.kind == Kind::compare) return weight_comparison(p);
  if (p.kind == Kind::is) {
    diagnostics_.error(codes::kBadComparison, "a measure of weights is compared with a number")
        .at(p.span)
        .fix("write absmax > 65504, size > 1000, underflow > 1% or overflow > 0%");
    return std::nullopt;
  }
  WeightTest result;
  result.kind = p.kind == Kind::all   ? WeightTest::Kind::all
                : p.kind == Kind::any ? WeightTest::Kind::any
                                      : WeightTest::Kind::none_of;
  bool ok = true;
  for (const ast::Predicate& part : p.parts) {
    auto one = weight_test(part);
    ok = ok && one.has_value();
    if (one) result.parts.push_back(std::move(*one));
  }
  if (!ok) return std::nullopt;
  return result;
}

std::optional<WeightTest> Resolver::weight_comparison(const ast::Predicate& n) {
  bool ok = true;
  WeightTest test;
  const std::vector<std::string> measures = {"absmax", "underflow", "overflow", "size"};
  const auto known = std::find(measures.begin(), measures.end(), n.left.name.text);
  if (n.left.kind != ast::Term::Kind::name || known == measures.end()) {
    auto& d = diagnostics_
                  .error(codes::kUnknownProperty, n.left.kind == ast::Term::Kind::name
                                                      ? "weights have no measure " + quote(n.left.name.text)
                                                      : "a measure of weights belongs here")
                  .at(n.left.span);
    suggest(d, n.left.name.text, measures);
    d.fix("measures are absmax, size, and the shares underflow and overflow: weight where absmax > 65504 keep fp32");
    return std::nullopt;
  }
  test.measure = static_cast<WeightTest::Measure>(known - measures.begin());
  const bool share = *known == "underflow" || *known == "overflow";
  if (n.right.kind != ast::Term::Kind::number) {
    diagnostics_.error(codes::kBadComparison, quote(*known) + " is compared with a number")
        .at(n.right.span)
        .fix(share ? "write a share such as 1%" : "write a number such as 65504");
    return std::nullopt;
  }
  const ast::Number& number = n.right.number;
  test.limit = number.percent ? number.value / 100 : number.value;
  if (share && (test.limit < 0 || test.limit > 1)) {
    diagnostics_.error(codes::kBadNumber, quote(*known) + " is a share of a weight's elements, between 0% and 100%")
        .at(number.span)
        .fix(number.percent || number.value < 0 || number.value > 100 ? "write a share such as 1%"
                                                                      : "write " + number.text + "%");
    ok = false;
  }
  if (!share && number.percent) {
    diagnostics_.error(codes::kBadNumber, quote(*known) + " is no share: a percentage has no meaning for it")
        .at(number.span)
        .fix("write a number such as 65504");
    ok = false;
  }
  if (!ok) return std::nullopt;
  test.op = n.op;
  return test;
}

void Resolver::statement(const ast::Scope& n, const ast::Statement& s, const Context& context) {
  if (!not_in_level(s, context, "a scope")) return;
  Scope scope;
  scope.parent = context.scope;
  scope.span = s.keyword;
  std::vector<std::string> texts;
  for (const ast::Pattern& p : n.patterns) {
    auto one = pattern(p);
    if (!one) continue;
    texts.push_back((p.regex ? "/" : "\"") + p.text);
    scope.patterns.push_back(std::move(*one));
  }
  std::sort(texts.begin(), texts.end());
  std::string key = "scope";
  if (scope.patterns.size() != n.patterns.size()) key += "\x1f" + std::to_string(s.keyword.begin);  // as no other
  for (const std::string& t : texts) key += "\x1e" + t;
  statements(n.body,
             {context.unit, enter(std::move(scope), key), std::nullopt, "a scope", false, context.open || n.open});
}

void Resolver::statement(const ast::Block& n, const ast::Statement& s, const Context& context) {
  if (!only_in_file(s, context, "a block")) return;
  Scope scope;
  scope.span = s.keyword;
  scope.block = n.path.text;
  std::string key = "block\x1e" + n.path.text;
  if (n.path.text.empty()) {
    diagnostics_.error(codes::kBadPattern, "the name of a block is empty")
        .at(n.path.span)
        .fix("the main graph is \"main\"");
  }
  if (n.has_range) {
    const auto good = [](const ast::Number& x) { return x.whole && x.value >= 0 && x.value < 4294967295.0; };
    for (const ast::Number* x : {&n.first, &n.last}) {
      if (!good(*x)) {
        diagnostics_.error(codes::kBadRange, "the number of a node is whole, from 0 to 4294967294")
            .at(x->span)
            .fix("nodes are counted from 0, and the last one is not in the range: nodes [1,3)");
        key += "\x1f" + std::to_string(s.keyword.begin);  // as no other
      }
    }
    if (good(n.first) && good(n.last)) {
      if (n.first.value >= n.last.value) {
        diagnostics_.error(codes::kBadRange, "the range [" + n.first.text + "," + n.last.text + ") holds no node")
            .at({n.first.span.file, n.first.span.begin, n.last.span.end})
            .fix("nodes are counted from 0, and the last one is not in the range: [" + n.first.text + "," +
                 n.first.text + "] is written [" + n.first.text + "," +
                 std::to_string(static_cast<std::uint64_t>(n.first.value) + 1) + ")");
      }
      scope.first = static_cast<std::uint32_t>(n.first.value);
      scope.last = static_cast<std::uint32_t>(n.last.value);
      key += "\x1e" + std::to_string(scope.first) + "," + std::to_string(scope.last);
    }
  }
  statements(n.body, {context.unit, enter(std::move(scope), key), std::nullopt, "a block", false, n.open});
}

// Equal scopes are one, wherever they are written.
ScopeId Resolver::enter(Scope scope, const std::string& own) {
  const std::string key = draft_.scope_keys[scope.parent] + "\x1f" + own;
  const auto [it, fresh] = scopes_.try_emplace(key, static_cast<ScopeId>(draft_.rules.scopes.size()));
  if (fresh) {
    draft_.rules.scopes.push_back(std::move(scope));
    draft_.scope_keys.push_back(key);
  }
  return it->second;
}

}  // namespace ampc::lang
