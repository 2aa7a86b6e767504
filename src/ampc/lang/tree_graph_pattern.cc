// `pattern rms_norm(x, eps) { … } keep fp32`: parse tree to syntax tree.
#include "ampc/diag/codes.h"
#include "ampc/lang/tree_builder.h"

namespace ampc::lang::syntax {

namespace {

using P = AmpParser;
using ast::GraphPattern;

class PatternBuilder {
 public:
  PatternBuilder(const Places& places, const PatternLeaves& leaves, Diagnostics& diagnostics)
      : places_(places), leaves_(leaves), diagnostics_(diagnostics) {}

  GraphPattern run(P::GraphPatternContext* t) {
    GraphPattern result;
    head(t, &result);
    for (P::TermNameContext* n : t->termName()) result.parameters.push_back(word(n));
    for (P::StepContext* s : t->step()) result.steps.push_back(step(s));
    if (t->OFF() != nullptr) {
      result.action = token(t->OFF()->getSymbol());
    } else if (P::PatternActionContext* a = t->patternAction(); a != nullptr) {
      result.action = token(a->start);
      if (a->word() != nullptr) result.type = word(a->word());
    }
    return result;
  }

 private:
  // Before a colon stand levels and data types, else the name alone: `pattern O1, fp16: rms_norm(…)`.
  void head(P::GraphPatternContext* t, GraphPattern* result) {
    const bool qualified = t->COLON() != nullptr;
    for (P::PatternItemContext* item : t->patternItem()) {
      if (item->patternName() != nullptr) {
        const ast::Word name = unqualified(item->patternName());
        if (qualified) {
          result->qualifiers.levels.push_back(name);
        } else if (result->name.text.empty()) {
          result->name = name;
        } else {
          missing_colon(item);
        }
      }
      if (item->lowType() == nullptr) continue;
      if (qualified) {
        result->qualifiers.dtypes.push_back(word(item->lowType()));
      } else {
        missing_colon(item);
      }
    }
    if (qualified) result->name = unqualified(t->patternName());
  }

  void missing_colon(P::PatternItemContext* item) {
    diagnostics_.error(codes::kExpected, "a pattern has one name")
        .at(places_.of(item))
        .fix("levels and data types stand before it, with a colon: pattern O1, OD: rms_norm(x, eps) { ... }");
  }

  ast::Word unqualified(P::PatternNameContext* t) {
    const ast::Op op = leaves_.op(t->start);
    if (op.qualified) {
      diagnostics_.error(codes::kExpected, "neither a pattern's name nor a level's has a domain")
          .at(op.span)
          .fix("leave the domain out: " + op.name);
    }
    return {op.name, op.span};
  }

  GraphPattern::Step step(P::StepContext* t) {
    GraphPattern::Step result;
    result.span = places_.of(t);
    for (P::TermNameContext* n : t->termName()) result.results.push_back(word(n));
    for (P::AlternativeContext* a : t->alternative()) {
      GraphPattern::Alternative one;
      one.call = call(leaves_.op(a->op()->start), a->arguments(), a->QUESTION() != nullptr);
      one.call.span =
          places_.of(a->start, a->QUESTION() != nullptr ? a->QUESTION()->getSymbol() : a->arguments()->stop);
      if (a->predicate() != nullptr) one.where = leaves_.predicate(a->predicate());
      result.alternatives.push_back(std::move(one));
    }
    return result;
  }

  GraphPattern::Call call(ast::Op op, P::ArgumentsContext* arguments, bool optional) {
    GraphPattern::Call result;
    result.op = std::move(op);
    result.optional = optional;
    for (P::ArgumentContext* a : arguments->argument()) result.arguments.push_back(argument(a));
    return result;
  }

  GraphPattern::Argument argument(P::ArgumentContext* t) {
    using Kind = GraphPattern::Argument::Kind;
    GraphPattern::Argument result;
    result.span = places_.of(t);
    if (t->NUMBER() != nullptr) {
      result.kind = Kind::number;
      result.number = leaves_.number(t->NUMBER());
    } else if (t->STAR() != nullptr) {
      result.kind = Kind::rest;
    } else if (t->arguments() != nullptr) {
      result.kind = Kind::call;
      result.call.push_back(call(leaves_.op(t->start), t->arguments(), t->QUESTION() != nullptr));
      result.call.back().span = result.span;
    } else {
      result.name = token(t->start);
      if (t->QNAME() != nullptr) {
        result.name.text = "_";
        diagnostics_.error(codes::kExpected, "expected '(' after the operator '" + t->getText() + "'").at(result.span);
      }
    }
    return result;
  }

  ast::Word word(antlr4::ParserRuleContext* t) { return {t->getText(), places_.of(t)}; }
  ast::Word token(const antlr4::Token* t) { return {t->getText(), places_.of(t)}; }

  const Places& places_;
  const PatternLeaves& leaves_;
  Diagnostics& diagnostics_;
};

}  // namespace

ast::GraphPattern build_graph_pattern(P::GraphPatternContext* tree, const Places& places, const PatternLeaves& leaves,
                                      Diagnostics& diagnostics) {
  return PatternBuilder(places, leaves, diagnostics).run(tree);
}

}  // namespace ampc::lang::syntax
