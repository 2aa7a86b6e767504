// Parse tree to syntax tree: an operator's declaration.
#include "ampc/lang/tree_words.h"

namespace ampc::lang::syntax {

namespace {

using P = AmpParser;

std::vector<ast::FormalDeclaration> formals(P::FormalsContext* t, const Words& words) {
  std::vector<ast::FormalDeclaration> result;
  for (P::FormalContext* f : t->formal()) {
    ast::FormalDeclaration one;
    one.variadic = f->VARIADIC() != nullptr;
    one.name = one.variadic ? words.token(f->VARIADIC()) : words.word(f->name());
    if (one.variadic) {  // the points are no part of the name
      one.name.text.resize(one.name.text.size() - 3);
      one.name.span.end -= 3;
    }
    one.optional = f->QUESTION() != nullptr;
    one.each = f->EACH() != nullptr;
    one.type = words.word(f->typeName());
    result.push_back(std::move(one));
  }
  return result;
}

ast::AttributeDeclaration attribute(P::AttributeContext* t, const Words& words) {
  ast::AttributeDeclaration result;
  result.name = words.word(t->name());
  result.optional = t->QUESTION() != nullptr;
  result.type = words.word(t->typeName());
  if (t->NUMBER() != nullptr) {
    result.number = words.number(t->NUMBER());
    result.value = result.number->span;
  } else if (t->STRING() != nullptr) {
    result.text = words.text_of(t->STRING());
    result.value = words.span(t->STRING());
  }
  return result;
}

}  // namespace

ast::Extern build_extern(P::ExternOperatorContext* t, const Words& words) {
  ast::Extern result;
  result.op = words.op(t->op()->start);
  if (t->NUMBER() != nullptr) result.since = words.number(t->NUMBER());
  if (t->attributes() != nullptr) {
    for (P::AttributeContext* a : t->attributes()->attribute()) result.attributes.push_back(attribute(a, words));
  }
  result.inputs = formals(t->formals(0), words);
  result.outputs = formals(t->formals(1), words);
  for (P::TypeVariableContext* v : t->typeVariable()) {
    ast::TypeVariable one{words.token(v->ID()), {}};
    for (P::TypeNameContext* type : v->typeName()) one.types.push_back(words.word(type));
    result.types.push_back(std::move(one));
  }
  return result;
}

}  // namespace ampc::lang::syntax
