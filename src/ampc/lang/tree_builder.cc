#include "ampc/lang/tree_builder.h"

#include <cmath>

#include "ampc/diag/codes.h"
#include "ampc/lang/tree_words.h"

namespace ampc::lang::syntax {

namespace {

using P = AmpParser;

class Builder : private Words {
 public:
  Builder(const Places& places, Diagnostics& diagnostics, const std::set<std::size_t>& given_back)
      : Words(places, diagnostics), given_back_(given_back) {}

  std::vector<ast::Statement> statements(const std::vector<P::StatementContext*>& trees) {
    std::vector<ast::Statement> result;
    for (P::StatementContext* tree : trees) {
      // A body that is not closed was read all the same.
      if (tree->exception != nullptr && body_of(tree) == nullptr) {
        lose(tree);
        continue;
      }
      if (tree->stop != nullptr && given_back_.contains(tree->stop->getTokenIndex())) continue;
      auto node = statement(tree);
      if (!node) continue;
      result.push_back({std::move(*node), places_.of(tree), places_.of(tree->start), {}});
    }
    return result;
  }

  std::set<std::string, std::less<>> lost() { return std::move(lost_); }

 private:
  using Node = ast::Statement::Node;

  static bool is_open(P::BodyContext* body) { return body->RBRACE() == nullptr; }

  // What this statement would have defined.
  void lose(P::StatementContext* s) {
    P::ExternOperatorContext* declaration =
        s->overriding() != nullptr ? s->overriding()->externOperator() : s->externOperator();
    if (declaration != nullptr && declaration->op() != nullptr) lost_.insert(declaration->op()->getText());
    if (s->alias() != nullptr && s->alias()->aliasName() != nullptr) lost_.insert(s->alias()->aliasName()->getText());
    if (s->level() != nullptr && s->level()->word() != nullptr) lost_.insert(s->level()->word()->getText());
  }

  static P::BodyContext* body_of(P::StatementContext* s) {
    if (auto* t = s->scope()) return t->body();
    if (auto* t = s->block()) return t->body();
    if (auto* t = s->level()) return t->body();
    return nullptr;
  }

  // By the kind of the one tree in it: to ask for each kind in turn costs more than parsing does.
  std::optional<Node> statement(P::StatementContext* s) {
    auto* inner = s->children.empty() ? nullptr : dynamic_cast<antlr4::ParserRuleContext*>(s->children.front());
    if (inner == nullptr) return std::nullopt;
    switch (inner->getRuleIndex()) {
      case P::RuleVersion:
        return ast::Version{number(s->version()->NUMBER())};
      case P::RuleImportFile:
        return import(s->importFile());
      case P::RuleSetting:
        return setting(s->setting());
      case P::RuleIo:
        return io(s->io());
      case P::RuleLevel:
        return level(s->level());
      case P::RuleLevelPart:
        return level_part(s->levelPart());
      case P::RuleList:
        return list(s->list(), {});
      case P::RuleFact:
        return fact(s->fact());
      case P::RuleOptimizer:
        return optimizer(s->optimizer());
      case P::RuleBackward:
        return backward(s->backward());
      case P::RuleOverriding:
        return overriding(s->overriding());
      case P::RuleGraphPattern:
        return graph_pattern(s->graphPattern(), {});
      case P::RuleRole:
        return role(s->role(), {});
      case P::RuleAlias:
        return alias(s->alias());
      case P::RuleExternOperator:
        return build_extern(s->externOperator(), *this);
      case P::RuleTensorRule:
        return tensor(s->tensorRule());
      case P::RuleNodeRule:
        return node(s->nodeRule());
      case P::RuleGuardRule:
        return name_rule(ast::NameRule::Kind::guard, s->guardRule()->pattern(), nullptr, nullptr);
      case P::RuleWeightRule:
        return weight(s->weightRule());
      case P::RuleScope:
        return ast::Scope{patterns(s->scope()->pattern()), statements(s->scope()->body()->statement()),
                          is_open(s->scope()->body())};
      case P::RuleBlock:
        return block(s->block());
      default:
        return std::nullopt;
    }
  }

  ast::Import import(P::ImportFileContext* t) {
    ast::Import result{{path_of(t->STRING()), span(t->STRING())}, {}};
    for (P::DomainContext* d : t->domain()) result.domains.push_back(word(d));
    return result;
  }

  ast::Fact fact(P::FactContext* t) {
    const auto fact = t->BOUNDED() != nullptr    ? FactRule::Fact::bounded
                      : t->COMMUTES() != nullptr ? FactRule::Fact::commutes
                      : t->MOVES() != nullptr    ? FactRule::Fact::moves
                                                 : FactRule::Fact::collective;
    return {fact, ops(t->operators())};
  }

  ast::NameRule tensor(P::TensorRuleContext* t) {
    auto* action = t->KEEP() != nullptr ? t->KEEP() : t->STORE() != nullptr ? t->STORE() : t->ID();
    return name_rule(ast::NameRule::Kind::tensor, t->pattern(), action, t->word());
  }

  ast::NameRule node(P::NodeRuleContext* t) {
    return name_rule(ast::NameRule::Kind::node, t->pattern(), t->KEEP() != nullptr ? t->KEEP() : t->ID(), t->word());
  }

  Node overriding(P::OverridingContext* t) {
    const ast::Standing standing{t->OVERRIDE() != nullptr, t->SEALED() != nullptr};
    if (t->list() != nullptr) return list(t->list(), standing);
    if (t->role() != nullptr) return role(t->role(), standing);
    if (t->graphPattern() != nullptr) return graph_pattern(t->graphPattern(), standing);
    ast::Extern declaration = build_extern(t->externOperator(), *this);
    declaration.standing = standing;
    return declaration;
  }

  ast::Setting setting(P::SettingContext* t) {
    if (t->ON() != nullptr) {
      return {{"on conflict", places_.of(t->ON()->getSymbol(), t->CONFLICT()->getSymbol())}, word(t->choice())};
    }
    if (t->REWRITE() != nullptr) {
      return {{"rewrite " + t->word()->getText(), places_.of(t->start, t->word()->stop)}, word(t->toggle())};
    }
    const ast::Word key{t->start->getText(), places_.of(t->start)};
    return {key, t->toggle() != nullptr ? word(t->toggle()) : word(t->word())};
  }

  Node io(P::IoContext* t) {
    if (t->pattern().empty()) return ast::Setting{token(t->IO()), word(t->word())};
    return ast::IoRule{word(t->word()), patterns(t->pattern())};
  }

  Node level(P::LevelContext* t) {
    if (t->body() == nullptr) return ast::Setting{token(t->LEVEL()), word(t->word())};
    return ast::LevelDefinition{word(t->word()), statements(t->body()->statement()), is_open(t->body())};
  }

  ast::LevelPart level_part(P::LevelPartContext* t) {
    return {{t->start->getText(), places_.of(t->start)}, t->word() == nullptr ? ast::Word{} : word(t->word())};
  }

  ast::List list(P::ListContext* t, ast::Standing standing) {
    ast::List result;
    result.standing = standing;
    P::VerdictContext* v = t->verdict();
    result.verdict = v->ALLOW() != nullptr         ? Verdict::allow
                     : v->DENY() != nullptr        ? Verdict::deny
                     : v->FOLLOW() != nullptr      ? Verdict::follow
                     : v->UNSUPPORTED() != nullptr ? Verdict::unsupported
                                                   : Verdict::leave;
    if (t->COLON() != nullptr) {
      for (P::ListItemContext* item : t->listItem()) {
        if (item->op() != nullptr) {
          const ast::Op o = op(item->op());
          if (o.qualified) {
            diagnostics_.error(codes::kExpected, "levels and data types stand before ':', not operators")
                .at(o.span)
                .fix("operators stand behind it: " + std::string(ast::spelling(result.verdict)) +
                     " O1: " + item->op()->getText());
          } else if (o.name.find('.') != std::string::npos) {
            diagnostics_.error(codes::kExpected, "levels and data types stand before ':', not domains")
                .at(o.span)
                .fix("a domain and its operator are joined by '::': " + o.name +
                     "::" + t->operators()->op(0)->getText());
            return result;
          } else {
            result.qualifiers.levels.push_back({o.name, o.span});
          }
        }
        if (item->lowType() != nullptr) result.qualifiers.dtypes.push_back(word(item->lowType()));
      }
      result.ops = ops(t->operators());
    } else {
      for (P::ListItemContext* item : t->listItem()) {
        if (item->op() != nullptr) result.ops.push_back(op(item->op()));
        if (item->lowType() != nullptr) {
          const ast::Word type = word(item->lowType());
          diagnostics_.error(codes::kExpected, "'" + type.text + "' is a data type, not an operator")
              .at(type.span)
              .fix("data types stand before the operators, with a colon: " +
                   std::string(ast::spelling(result.verdict)) + " " + type.text + ": Exp");
        }
      }
    }
    if (t->predicate() != nullptr) result.where = predicate(t->predicate());
    return result;
  }

  ast::GraphPattern graph_pattern(P::GraphPatternContext* t, ast::Standing standing) {
    const PatternLeaves leaves{[this](const antlr4::Token* x) { return op(x); },
                               [this](antlr4::tree::TerminalNode* x) { return number(x); },
                               [this](P::PredicateContext* x) { return predicate(x); }};
    ast::GraphPattern result = build_graph_pattern(t, places_, leaves, diagnostics_);
    result.standing = standing;
    return result;
  }

  ast::Role role(P::RoleContext* t, ast::Standing standing) {
    ast::Role result;
    result.standing = standing;
    P::RoleOperatorsContext* names = t->roleOperators();
    auto* head = names->ID() != nullptr ? names->ID() : names->QNAME();
    result.ops.push_back(op(head->getSymbol()));
    for (P::OpContext* o : names->op()) result.ops.push_back(op(o));
    if (t->qualifiers() != nullptr) {
      for (P::QualifierContext* q : t->qualifiers()->qualifier()) {
        if (q->ID() != nullptr) result.qualifiers.levels.push_back(token(q->ID()));
        if (q->opWord() != nullptr) result.qualifiers.levels.push_back(word(q->opWord()));
        if (q->lowType() != nullptr) result.qualifiers.dtypes.push_back(word(q->lowType()));
      }
    }
    result.results = t->RESULT() != nullptr;
    result.operands.every = t->operands()->STAR() != nullptr;
    result.operands.span = places_.of(t->operands());
    for (P::OperandContext* o : t->operands()->operand()) result.operands.list.push_back(operand(o));
    P::ActionContext* a = t->action();
    if (a->KEEP() != nullptr) {
      result.action = RoleAction::keep_fp32;
      result.type = word(a->word());
    } else if (a->STORE() != nullptr) {
      result.action = RoleAction::store_fp32;
      result.type = word(a->word());
    } else if (a->SATURATE() != nullptr) {
      result.action = RoleAction::saturate;
    } else if (a->FACTOR() != nullptr) {
      result.action = RoleAction::factor;
    } else if (a->FROM() != nullptr) {
      result.action = RoleAction::exact_from_integers;
      result.from = word(a->word());
    } else {
      result.action = RoleAction::exact;
    }
    return result;
  }

  ast::Alias alias(P::AliasContext* t) {
    ast::Alias result;
    result.name = word(t->aliasName());
    result.has_parameters = t->LPAREN() != nullptr;
    if (t->parameters() != nullptr) {
      for (P::NameContext* n : t->parameters()->name()) result.parameters.push_back(word(n));
    }
    for (P::AliasTargetContext* target : t->aliasTarget()) {
      ast::AliasTarget one{op(target->op()), {}};
      for (P::BindingContext* b : target->binding()) one.bindings.push_back({word(b->name(0)), word(b->name(1))});
      result.targets.push_back(std::move(one));
    }
    return result;
  }

  ast::Optimizer optimizer(P::OptimizerContext* t) {
    ast::Optimizer result{op(t->op()), {}};
    for (P::OptimizerOperandContext* o : t->optimizerOperand()) {
      ast::OptimizerOperand one{operand(o->operand()), {}};
      for (auto* part : o->ID()) one.parts.push_back(token(part));
      result.operands.push_back(std::move(one));
    }
    return result;
  }

  ast::Backward backward(P::BackwardContext* t) {
    ast::Backward result{regex(t->REGEX()), std::nullopt};
    if (t->STRING() != nullptr) result.doc = ast::Word{text_of(t->STRING()), span(t->STRING())};
    return result;
  }

  ast::NameRule name_rule(ast::NameRule::Kind kind, const std::vector<P::PatternContext*>& list,
                          antlr4::tree::TerminalNode* action, P::WordContext* type) {
    return {kind, patterns(list), action == nullptr ? ast::Word{} : token(action),
            type == nullptr ? ast::Word{} : word(type)};
  }

  Node weight(P::WeightRuleContext* t) {
    if (t->WHERE() == nullptr) return name_rule(ast::NameRule::Kind::weight, t->pattern(), t->KEEP(), t->word());
    return ast::WeightCondition{predicate(t->predicate()), word(t->word())};
  }

  ast::Block block(P::BlockContext* t) {
    ast::Block result;
    result.path = {text_of(t->STRING()), span(t->STRING())};
    result.has_range = t->NODES() != nullptr;
    if (result.has_range) {
      result.first = number(t->NUMBER(0));
      result.last = number(t->NUMBER(1));
    }
    result.body = statements(t->body()->statement());
    result.open = is_open(t->body());
    return result;
  }

  ast::Predicate joined(ast::Predicate::Kind kind, std::vector<ast::Predicate> parts, Span place) {
    if (parts.size() == 1 && kind != ast::Predicate::Kind::none_of) return std::move(parts[0]);
    ast::Predicate result;
    result.kind = kind;
    result.parts = std::move(parts);
    result.span = place;
    return result;
  }

  ast::Predicate predicate(P::PredicateContext* t) {
    std::vector<ast::Predicate> any;
    for (P::ConjunctionContext* c : t->conjunction()) {
      std::vector<ast::Predicate> all;
      for (P::NegationContext* n : c->negation()) {
        ast::Predicate one = condition(n->condition());
        if (n->NOT().size() % 2 == 1) one = negated(std::move(one), places_.of(n));
        all.push_back(std::move(one));
      }
      any.push_back(joined(ast::Predicate::Kind::all, std::move(all), places_.of(c)));
    }
    return joined(ast::Predicate::Kind::any, std::move(any), places_.of(t));
  }

  ast::Predicate negated(ast::Predicate one, Span place) {
    std::vector<ast::Predicate> parts;
    parts.push_back(std::move(one));
    return joined(ast::Predicate::Kind::none_of, std::move(parts), place);
  }

  ast::Predicate condition(P::ConditionContext* t) {
    if (t->predicate() != nullptr) return predicate(t->predicate());
    ast::Predicate result;
    result.span = places_.of(t);
    result.left = term(t->term(0));
    if (t->IS() != nullptr) {
      result.kind = ast::Predicate::Kind::is;
      result.property = word(t->property());
      return t->NOT() != nullptr ? negated(std::move(result), places_.of(t)) : result;
    }
    result.kind = ast::Predicate::Kind::compare;
    result.op = comparison(t->comparator());
    result.right = term(t->term(1));
    return result;
  }

  static lang::Predicate::Op comparison(P::ComparatorContext* t) {
    using Op = lang::Predicate::Op;
    if (t->EQ() != nullptr) return Op::eq;
    if (t->NE() != nullptr) return Op::ne;
    if (t->LT() != nullptr) return Op::lt;
    if (t->LE() != nullptr) return Op::le;
    return t->GT() != nullptr ? Op::gt : Op::ge;
  }

  ast::Term term(P::TermContext* t) {
    ast::Term result;
    result.span = places_.of(t);
    if (t->STRING() != nullptr) {
      result.kind = ast::Term::Kind::text;
      result.text = text_of(t->STRING());
    } else if (t->PERCENT() != nullptr) {
      result.number = number(t->PERCENT());
    } else if (t->lowType() != nullptr) {
      result.kind = ast::Term::Kind::name;
      result.name = word(t->lowType());
    } else if (t->termName() == nullptr) {
      result.number = number(t->NUMBER());
    } else if (t->operand() == nullptr) {
      result.kind = ast::Term::Kind::name;
      result.name = word(t->termName());
    } else {
      result.kind = ast::Term::Kind::call;
      result.name = word(t->termName());
      result.operand = operand(t->operand());
      if (t->NUMBER() != nullptr) result.index = number(t->NUMBER());
    }
    return result;
  }

  ast::Operand operand(P::OperandContext* t) {
    ast::Operand result;
    result.span = places_.of(t);
    if (t->NUMBER() == nullptr) {
      result.name = text(t);
      return result;
    }
    const ast::Number n = number(t->NUMBER());
    // Whether the operator has so many is asked later.
    const bool good = n.whole && std::abs(n.value) < 1e9;
    result.position = good ? static_cast<std::int64_t>(n.value) : ast::Operand::kNone;
    if (!good) {
      diagnostics_.error(codes::kBadNumber, "'" + n.text + "' is no position of an operand")
          .at(result.span)
          .fix("operands are counted from 1: arg 1, 2");
    }
    return result;
  }

  std::vector<ast::Op> ops(P::OperatorsContext* t) {
    std::vector<ast::Op> result;
    for (P::OpContext* o : t->op()) result.push_back(op(o));
    return result;
  }

  using Words::op;
  ast::Op op(P::OpContext* t) { return op(t->start); }

  std::vector<ast::Pattern> patterns(const std::vector<P::PatternContext*>& list) {
    std::vector<ast::Pattern> result;
    for (P::PatternContext* p : list) {
      if (p->STRING() != nullptr) {
        result.push_back({text_of(p->STRING()), false, span(p->STRING())});
        continue;
      }
      result.push_back(regex(p->REGEX()));
    }
    return result;
  }

  ast::Pattern regex(antlr4::tree::TerminalNode* node) {
    std::string text = node->getText();
    text.erase(0, 1);
    if (text.ends_with('/')) text.pop_back();  // a missing one was reported
    return {std::move(text), true, span(node)};
  }

  const std::set<std::size_t>& given_back_;
  std::set<std::string, std::less<>> lost_;
};

}  // namespace

void build(const std::vector<AmpParser::StatementContext*>& trees, const Places& places, Diagnostics& diagnostics,
           const std::set<std::size_t>& given_back, ast::File& file) {
  Builder builder(places, diagnostics, given_back);
  file.statements = builder.statements(trees);
  file.lost = builder.lost();
}

}  // namespace ampc::lang::syntax
