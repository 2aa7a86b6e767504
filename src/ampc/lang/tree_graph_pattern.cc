// `pattern rms_norm(x, eps) { … } keep fp32`: parse tree to syntax tree.
#include "ampc/diag/codes.h"
#include "ampc/lang/tree_builder.h"
#include "ampc/lang/tree_words.h"

namespace ampc::lang::syntax {

namespace {

using ast::GraphPattern;

class PatternBuilder {
 public:
  PatternBuilder(const PatternLeaves& leaves, Diagnostics& diagnostics) : leaves_(leaves), diagnostics_(diagnostics) {}

  GraphPattern run(Tree t) {
    GraphPattern result;
    head(t, &result);
    for (const Tree n : t.all(R::termName)) result.parameters.push_back(Words::word(n));
    for (const Tree s : t.all(R::step)) result.steps.push_back(step(s));
    if (t(T::OFF)) {
      result.action = Words::word(t(T::OFF));
    } else if (Tree a = t(R::patternAction); a) {
      result.action = Words::head(a);
      if (a(R::word)) result.type = Words::word(a(R::word));
    }
    return result;
  }

 private:
  // Before a colon stand levels and data types, else the name alone: `pattern O1, fp16: rms_norm(…)`.
  void head(Tree t, GraphPattern* result) {
    const bool qualified = t.has(T::COLON);
    for (const Tree item : t.all(R::patternItem)) {
      if (item(R::patternName)) {
        const ast::Word name = unqualified(item(R::patternName));
        if (qualified) {
          result->qualifiers.levels.push_back(name);
        } else if (result->name.text.empty()) {
          result->name = name;
        } else {
          missing_colon(item);
        }
      }
      if (!item(R::lowType)) continue;
      if (qualified) {
        result->qualifiers.dtypes.push_back(Words::word(item(R::lowType)));
      } else {
        missing_colon(item);
      }
    }
    if (qualified) result->name = unqualified(t(R::patternName));
  }

  void missing_colon(Tree item) {
    diagnostics_.error(codes::kExpected, "a pattern has one name")
        .at(item.span())
        .fix("levels and data types stand before it, with a colon: pattern O1, OD: rms_norm(x, eps) { ... }");
  }

  ast::Word unqualified(Tree t) {
    const ast::Op op = leaves_.op(t);
    if (op.qualified) {
      diagnostics_.error(codes::kExpected, "neither a pattern's name nor a level's has a domain")
          .at(op.span)
          .fix("leave the domain out: " + op.name);
    }
    return {op.name, op.span};
  }

  GraphPattern::Step step(Tree t) {
    GraphPattern::Step result;
    result.span = t.span();
    for (const Tree n : t.all(R::termName)) result.results.push_back(Words::word(n));
    for (const Tree a : t.all(R::alternative)) {
      GraphPattern::Alternative one;
      one.call = call(leaves_.op(a(R::op)), a(R::arguments), a.has(T::QUESTION));
      one.call.span = a.to(a(T::QUESTION) ? a(T::QUESTION) : a(R::arguments));
      if (a(R::predicate)) one.where = leaves_.predicate(a(R::predicate));
      result.alternatives.push_back(std::move(one));
    }
    return result;
  }

  GraphPattern::Call call(ast::Op op, Tree arguments, bool optional) {
    GraphPattern::Call result;
    result.op = std::move(op);
    result.optional = optional;
    for (const Tree a : arguments.all(R::argument)) result.arguments.push_back(argument(a));
    return result;
  }

  GraphPattern::Argument argument(Tree t) {
    using Kind = GraphPattern::Argument::Kind;
    GraphPattern::Argument result;
    result.span = t.span();
    if (t(T::NUMBER)) {
      result.kind = Kind::number;
      result.number = leaves_.number(t(T::NUMBER));
    } else if (t(T::STAR)) {
      result.kind = Kind::rest;
    } else if (t(R::arguments)) {
      result.kind = Kind::call;
      result.call.push_back(call(leaves_.op(t), t(R::arguments), t.has(T::QUESTION)));
      result.call.back().span = result.span;
    } else {
      result.name = Words::head(t);
      if (t(T::QNAME)) {
        result.name.text = "_";
        diagnostics_.error(codes::kExpected, "expected '(' after the operator '" + t.str() + "'").at(result.span);
      }
    }
    return result;
  }

  const PatternLeaves& leaves_;
  Diagnostics& diagnostics_;
};

}  // namespace

ast::GraphPattern build_graph_pattern(Tree tree, const PatternLeaves& leaves, Diagnostics& diagnostics) {
  return PatternBuilder(leaves, diagnostics).run(tree);
}

}  // namespace ampc::lang::syntax
