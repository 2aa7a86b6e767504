// Contradictions among rules of names: the same pattern in the same scope with two answers.
#include <map>
#include <tuple>

#include "ampc/diag/codes.h"
#include "ampc/lang/ast.h"
#include "ampc/lang/draft.h"
#include "ampc/lang/places.h"

namespace ampc::lang {

namespace {

// Equal patterns in equal scopes; the first answer stays.
template <typename Rule, typename Scope, typename Answer>
void settle(std::vector<Rule>& rules, const char* what, Scope scope, Answer answer, const Program& program,
            Diagnostics& diagnostics) {
  std::map<std::tuple<ScopeId, bool, std::string>, std::size_t> seen;
  std::vector<Rule> kept;
  for (Rule& rule : rules) {
    const auto [it, fresh] = seen.try_emplace({scope(rule), rule.pattern.is_regex(), rule.pattern.text()}, kept.size());
    if (fresh) {
      kept.push_back(std::move(rule));
      continue;
    }
    const Rule& first = kept[it->second];
    if (answer(first) != answer(rule)) {
      auto& d = diagnostics
                    .error(codes::kContradiction, std::string("two rules say different things of the ") + what + " '" +
                                                      rule.pattern.text() + "'")
                    .at(rule.span, answer(rule))
                    .also(first.span, answer(first))
                    .fix("remove one of the two");
      show_imports(d, program, unit_of(program, rule.span.file), unit_of(program, first.span.file));
    } else if (first.span.file == rule.span.file) {
      auto& d = diagnostics
                    .warning(codes::kDuplicate,
                             std::string("the ") + what + " '" + rule.pattern.text() + "' has this rule twice")
                    .at(rule.span)
                    .also(first.span, "here as well")
                    .fix("leave one of the two out");
      edit_out(d, program, rule.span);
    }
  }
  rules = std::move(kept);
}

}  // namespace

void settle_names(Draft& draft, const Program& program, Diagnostics& diagnostics) {
  const auto scope = [](const auto& rule) { return rule.scope; };
  const auto whole = [](const auto&) { return kWholeModel; };
  settle(
      draft.rules.tensors, "tensor", scope, [](const TensorRule& r) { return std::string(ast::spelling(r.action)); },
      program, diagnostics);
  settle(
      draft.rules.nodes, "node", scope, [](const NodeRule& r) { return std::string(r.low ? "low" : "keep fp32"); },
      program, diagnostics);
  settle(
      draft.rules.guards, "guard", whole, [](const GuardRule&) { return std::string(); }, program, diagnostics);
  settle(
      draft.rules.io, "input or output", whole,
      [](const IoRule& r) { return std::string(r.io == Io::low ? "io low" : "io keep"); }, program, diagnostics);
}

}  // namespace ampc::lang
