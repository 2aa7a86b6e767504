// Parse tree to syntax tree: an operator's declaration.
#include "ampc/lang/tree_words.h"

namespace ampc::lang::syntax {

namespace {

std::vector<ast::FormalDeclaration> formals(Tree t) {
  std::vector<ast::FormalDeclaration> result;
  for (const Tree f : t.all(R::formal)) {
    ast::FormalDeclaration one;
    one.variadic = f.has(T::VARIADIC);
    one.name = one.variadic ? Words::word(f(T::VARIADIC)) : Words::word(f(R::name));
    if (one.variadic) {  // the points are no part of the name
      one.name.text.resize(one.name.text.size() - 3);
      one.name.span.end -= 3;
    }
    one.optional = f.has(T::QUESTION);
    one.each = f.has(T::EACH);
    one.type = Words::word(f(R::typeName));
    result.push_back(std::move(one));
  }
  return result;
}

ast::AttributeDeclaration attribute(Tree t, const Words& words) {
  ast::AttributeDeclaration result;
  result.name = Words::word(t(R::name));
  result.optional = t.has(T::QUESTION);
  result.type = Words::word(t(R::typeName));
  if (t(T::NUMBER)) {
    result.number = words.number(t(T::NUMBER));
    result.value = result.number->span;
  } else if (t(T::STRING)) {
    result.text = words.text_of(t(T::STRING));
    result.value = t(T::STRING).span();
  }
  return result;
}

}  // namespace

ast::Extern build_extern(Tree t, const Words& words) {
  ast::Extern result;
  result.op = Words::op(t(R::op));
  if (t(T::NUMBER)) result.since = words.number(t(T::NUMBER));
  if (t(R::attributes)) {
    for (const Tree a : t(R::attributes).all(R::attribute)) result.attributes.push_back(attribute(a, words));
  }
  result.inputs = formals(t(R::formals, 0));
  result.outputs = formals(t(R::formals, 1));
  for (const Tree v : t.all(R::typeVariable)) {
    ast::TypeVariable one{Words::word(v(T::ID)), {}};
    for (const Tree type : v.all(R::typeName)) one.types.push_back(Words::word(type));
    result.types.push_back(std::move(one));
  }
  return result;
}

}  // namespace ampc::lang::syntax
