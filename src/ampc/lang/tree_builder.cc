#include "ampc/lang/tree_builder.h"

#include <cmath>

#include "ampc/diag/codes.h"
#include "ampc/lang/tree_words.h"

namespace ampc::lang::syntax {

namespace {

class Builder : private Words {
 public:
  Builder(Diagnostics& diagnostics, const std::set<std::size_t>& given_back)
      : Words(diagnostics), given_back_(given_back) {}

  std::vector<ast::Statement> statements(const std::vector<Tree>& trees) {
    std::vector<ast::Statement> result;
    result.reserve(trees.size());
    for (const Tree& tree : trees) add(tree, result);
    return result;
  }

  void add(Tree tree, std::vector<ast::Statement>& statements) {
    // A body that is not closed was read all the same.
    if (tree.node().faulty && !body_of(tree)) return lose(tree);
    if (given_back_.contains(tree.node().last)) return;
    auto node = statement(tree);
    if (node) statements.push_back({std::move(*node), tree.span(), tree.head_span(), {}});
  }

  std::set<std::string, std::less<>> lost() { return std::move(lost_); }

 private:
  using Node = ast::Statement::Node;

  // Also where a slip stands in it: a bracket that was meant to close it may be another by mistake.
  static bool is_open(Tree body) { return !body(T::RBRACE) || body.slipped(); }

  // What this statement would have defined.
  void lose(Tree s) {
    const Tree declaration = (s(R::overriding) ? s(R::overriding) : s)(R::externOperator);
    if (declaration && declaration(R::op)) lost_.insert(declaration(R::op).str());
    if (s(R::alias) && s(R::alias)(R::aliasName)) lost_.insert(s(R::alias)(R::aliasName).str());
    if (s(R::level) && s(R::level)(R::word)) lost_.insert(s(R::level)(R::word).str());
  }

  static Tree body_of(Tree s) {
    for (const R rule : {R::scope, R::block, R::level}) {
      if (const Tree t = s(rule)) return t(R::body);
    }
    return {};
  }

  // By the kind of the one tree in it: to ask for each kind in turn costs more than parsing does.
  std::optional<Node> statement(Tree s) {
    const Tree t = s.inner();
    if (!t || t.node().leaf) return std::nullopt;
    switch (t.node().rule) {
      case R::version:
        return ast::Version{number(t(T::NUMBER))};
      case R::importFile:
        return import(t);
      case R::setting:
        return setting(t);
      case R::io:
        return io(t);
      case R::level:
        return level(t);
      case R::levelPart:
        return level_part(t);
      case R::list:
        return list(t, {});
      case R::fact:
        return fact(t);
      case R::optimizer:
        return optimizer(t);
      case R::backward:
        return backward(t);
      case R::overriding:
        return overriding(t);
      case R::graphPattern:
        return graph_pattern(t, {});
      case R::role:
        return role(t, {});
      case R::alias:
        return alias(t);
      case R::externOperator:
        return build_extern(t, *this);
      case R::tensorRule:
        return tensor(t);
      case R::nodeRule:
        return node(t);
      case R::guardRule:
        return name_rule(ast::NameRule::Kind::guard, t, {});
      case R::weightRule:
        return weight(t);
      case R::scope:
        return ast::Scope{patterns(t), statements(t(R::body).all(R::statement)), is_open(t(R::body))};
      case R::block:
        return block(t);
      default:
        return std::nullopt;
    }
  }

  ast::Import import(Tree t) {
    ast::Import result{{path_of(t(T::STRING)), t(T::STRING).span()}, {}};
    for (const Tree d : t.all(R::domain)) result.domains.push_back(word(d));
    return result;
  }

  ast::Fact fact(Tree t) {
    const auto fact = t(T::BOUNDED)    ? FactRule::Fact::bounded
                      : t(T::COMMUTES) ? FactRule::Fact::commutes
                      : t(T::MOVES)    ? FactRule::Fact::moves
                                       : FactRule::Fact::collective;
    return {fact, ops(t(R::operators))};
  }

  ast::NameRule tensor(Tree t) {
    return name_rule(ast::NameRule::Kind::tensor, t, t(T::KEEP) ? t(T::KEEP) : t(T::STORE) ? t(T::STORE) : t(T::ID));
  }

  ast::NameRule node(Tree t) { return name_rule(ast::NameRule::Kind::node, t, t(T::KEEP) ? t(T::KEEP) : t(T::ID)); }

  Node overriding(Tree t) {
    const ast::Standing standing{t.has(T::OVERRIDE), t.has(T::SEALED)};
    if (t(R::list)) return list(t(R::list), standing);
    if (t(R::role)) return role(t(R::role), standing);
    if (t(R::graphPattern)) return graph_pattern(t(R::graphPattern), standing);
    ast::Extern declaration = build_extern(t(R::externOperator), *this);
    declaration.standing = standing;
    return declaration;
  }

  ast::Setting setting(Tree t) {
    if (t(T::ON)) {
      return {{"on conflict", t(T::ON).to(t(T::CONFLICT))}, word(t(R::choice))};
    }
    if (t(T::REWRITE)) {
      return {{"rewrite " + t(R::word).str(), t.to(t(R::word))}, word(t(R::toggle))};
    }
    const ast::Word key = head(t);
    return {key, t(R::toggle) ? word(t(R::toggle)) : word(t(R::word))};
  }

  Node io(Tree t) {
    if (!t(R::pattern)) return ast::Setting{word(t(T::IO)), word(t(R::word))};
    return ast::IoRule{word(t(R::word)), patterns(t)};
  }

  Node level(Tree t) {
    if (!t(R::body)) return ast::Setting{word(t(T::LEVEL)), word(t(R::word))};
    return ast::LevelDefinition{word(t(R::word)), statements(t(R::body).all(R::statement)), is_open(t(R::body))};
  }

  ast::LevelPart level_part(Tree t) { return {head(t), t(R::word) ? word(t(R::word)) : ast::Word{}}; }

  ast::List list(Tree t, ast::Standing standing) {
    ast::List result;
    result.standing = standing;
    Tree v = t(R::verdict);
    result.verdict = v(T::ALLOW)         ? Verdict::allow
                     : v(T::DENY)        ? Verdict::deny
                     : v(T::FOLLOW)      ? Verdict::follow
                     : v(T::UNSUPPORTED) ? Verdict::unsupported
                                         : Verdict::leave;
    if (t(T::COLON)) {
      for (const Tree item : t.all(R::listItem)) {
        if (item(R::op)) {
          const ast::Op o = op(item(R::op));
          if (o.qualified) {
            diagnostics_.error(codes::kExpected, "levels and data types stand before ':', not operators")
                .at(o.span)
                .fix("operators stand behind it: " + std::string(ast::spelling(result.verdict)) +
                     " O1: " + item(R::op).str());
          } else if (o.name.find('.') != std::string::npos) {
            diagnostics_.error(codes::kExpected, "levels and data types stand before ':', not domains")
                .at(o.span)
                .fix("a domain and its operator are joined by '::': " + o.name +
                     "::" + t(R::operators)(R::op, 0).str());
            return result;
          } else {
            result.qualifiers.levels.push_back({o.name, o.span});
          }
        }
        if (item(R::lowType)) result.qualifiers.dtypes.push_back(word(item(R::lowType)));
      }
      result.ops = ops(t(R::operators));
    } else {
      for (const Tree item : t.all(R::listItem)) {
        if (item(R::op)) result.ops.push_back(op(item(R::op)));
        if (item(R::lowType)) {
          const ast::Word type = word(item(R::lowType));
          diagnostics_.error(codes::kExpected, "'" + type.text + "' is a data type, not an operator")
              .at(type.span)
              .fix("data types stand before the operators, with a colon: " +
                   std::string(ast::spelling(result.verdict)) + " " + type.text + ": Exp");
        }
      }
    }
    if (t(R::predicate)) result.where = predicate(t(R::predicate));
    return result;
  }

  ast::GraphPattern graph_pattern(Tree t, ast::Standing standing) {
    const PatternLeaves leaves{[](Tree x) { return op(x); }, [this](Tree x) { return number(x); },
                               [this](Tree x) { return predicate(x); }};
    ast::GraphPattern result = build_graph_pattern(t, leaves, diagnostics_);
    result.standing = standing;
    return result;
  }

  ast::Role role(Tree t, ast::Standing standing) {
    ast::Role result;
    result.standing = standing;
    Tree names = t(R::roleOperators);
    const Tree head = names(T::ID) ? names(T::ID) : names(T::QNAME);
    result.ops.push_back(op(head));
    for (const Tree o : names.all(R::op)) result.ops.push_back(op(o));
    if (t(R::qualifiers)) {
      for (const Tree q : t(R::qualifiers).all(R::qualifier)) {
        if (q(T::ID)) result.qualifiers.levels.push_back(word(q(T::ID)));
        if (q(R::opWord)) result.qualifiers.levels.push_back(word(q(R::opWord)));
        if (q(R::lowType)) result.qualifiers.dtypes.push_back(word(q(R::lowType)));
      }
    }
    result.results = t.has(T::RESULT);
    result.operands.every = t(R::operands).has(T::STAR);
    result.operands.span = t(R::operands).span();
    for (const Tree o : t(R::operands).all(R::operand)) result.operands.list.push_back(operand(o));
    Tree a = t(R::action);
    if (a(T::KEEP)) {
      result.action = RoleAction::keep_fp32;
      result.type = word(a(R::word));
    } else if (a(T::STORE)) {
      result.action = RoleAction::store_fp32;
      result.type = word(a(R::word));
    } else if (a(T::SATURATE)) {
      result.action = RoleAction::saturate;
    } else if (a(T::FACTOR)) {
      result.action = RoleAction::factor;
    } else if (a(T::FROM)) {
      result.action = RoleAction::exact_from_integers;
      result.from = word(a(R::word));
    } else {
      result.action = RoleAction::exact;
    }
    return result;
  }

  ast::Alias alias(Tree t) {
    ast::Alias result;
    result.name = word(t(R::aliasName));
    result.has_parameters = t.has(T::LPAREN);
    if (t(R::parameters)) {
      for (const Tree n : t(R::parameters).all(R::name)) result.parameters.push_back(word(n));
    }
    for (const Tree target : t.all(R::aliasTarget)) {
      ast::AliasTarget one{op(target(R::op)), {}};
      for (const Tree b : target.all(R::binding)) one.bindings.push_back({word(b(R::name, 0)), word(b(R::name, 1))});
      result.targets.push_back(std::move(one));
    }
    return result;
  }

  ast::Optimizer optimizer(Tree t) {
    ast::Optimizer result{op(t(R::op)), {}};
    for (const Tree o : t.all(R::optimizerOperand)) {
      ast::OptimizerOperand one{operand(o(R::operand)), {}};
      for (const Tree part : o.all(T::ID)) one.parts.push_back(word(part));
      result.operands.push_back(std::move(one));
    }
    return result;
  }

  ast::Backward backward(Tree t) {
    ast::Backward result{regex(t(T::REGEX)), std::nullopt};
    if (t(T::STRING)) result.doc = ast::Word{text_of(t(T::STRING)), t(T::STRING).span()};
    return result;
  }

  ast::NameRule name_rule(ast::NameRule::Kind kind, Tree t, Tree action) {
    return {kind, patterns(t), action ? word(action) : ast::Word{}, t(R::word) ? word(t(R::word)) : ast::Word{}};
  }

  Node weight(Tree t) {
    if (!t(T::WHERE)) return name_rule(ast::NameRule::Kind::weight, t, t(T::KEEP));
    return ast::WeightCondition{predicate(t(R::predicate)), word(t(R::word))};
  }

  ast::Block block(Tree t) {
    ast::Block result;
    result.path = {text_of(t(T::STRING)), t(T::STRING).span()};
    result.has_range = t.has(T::NODES);
    if (result.has_range) {
      result.first = number(t(T::NUMBER, 0));
      result.last = number(t(T::NUMBER, 1));
    }
    result.body = statements(t(R::body).all(R::statement));
    result.open = is_open(t(R::body));
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

  ast::Predicate predicate(Tree t) {
    std::vector<ast::Predicate> any;
    for (const Tree c : t.all(R::conjunction)) {
      std::vector<ast::Predicate> all;
      for (const Tree n : c.all(R::negation)) {
        ast::Predicate one = condition(n(R::condition));
        if (n.all(T::NOT).size() % 2 == 1) one = negated(std::move(one), n.span());
        all.push_back(std::move(one));
      }
      any.push_back(joined(ast::Predicate::Kind::all, std::move(all), c.span()));
    }
    return joined(ast::Predicate::Kind::any, std::move(any), t.span());
  }

  ast::Predicate negated(ast::Predicate one, Span place) {
    std::vector<ast::Predicate> parts;
    parts.push_back(std::move(one));
    return joined(ast::Predicate::Kind::none_of, std::move(parts), place);
  }

  ast::Predicate condition(Tree t) {
    if (t(R::predicate)) return predicate(t(R::predicate));
    ast::Predicate result;
    result.span = t.span();
    result.left = term(t(R::term, 0));
    if (t(T::IS)) {
      result.kind = ast::Predicate::Kind::is;
      result.property = word(t(R::property));
      return t(T::NOT) ? negated(std::move(result), t.span()) : result;
    }
    result.kind = ast::Predicate::Kind::compare;
    result.op = comparison(t(R::comparator));
    result.right = term(t(R::term, 1));
    return result;
  }

  static lang::Predicate::Op comparison(Tree t) {
    using Op = lang::Predicate::Op;
    if (t(T::EQ)) return Op::eq;
    if (t(T::NE)) return Op::ne;
    if (t(T::LT)) return Op::lt;
    if (t(T::LE)) return Op::le;
    return t(T::GT) ? Op::gt : Op::ge;
  }

  ast::Term term(Tree t) {
    ast::Term result;
    result.span = t.span();
    if (t(T::STRING)) {
      result.kind = ast::Term::Kind::text;
      result.text = text_of(t(T::STRING));
    } else if (t(T::PERCENT)) {
      result.number = number(t(T::PERCENT));
    } else if (t(R::lowType)) {
      result.kind = ast::Term::Kind::name;
      result.name = word(t(R::lowType));
    } else if (!t(R::termName)) {
      result.number = number(t(T::NUMBER));
    } else if (!t(R::operand)) {
      result.kind = ast::Term::Kind::name;
      result.name = word(t(R::termName));
    } else {
      result.kind = ast::Term::Kind::call;
      result.name = word(t(R::termName));
      result.operand = operand(t(R::operand));
      if (t(T::NUMBER)) result.index = number(t(T::NUMBER));
    }
    return result;
  }

  ast::Operand operand(Tree t) {
    ast::Operand result;
    result.span = t.span();
    if (!t(T::NUMBER)) {
      result.name = t.str();
      return result;
    }
    const ast::Number n = number(t(T::NUMBER));
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

  std::vector<ast::Op> ops(Tree t) {
    std::vector<ast::Op> result;
    for (const Tree o : t.all(R::op)) result.push_back(op(o));
    return result;
  }

  std::vector<ast::Pattern> patterns(Tree t) {
    std::vector<ast::Pattern> result;
    for (const Tree p : t.all(R::pattern)) {
      if (p(T::STRING)) {
        result.push_back({text_of(p(T::STRING)), false, p(T::STRING).span()});
        continue;
      }
      result.push_back(regex(p(T::REGEX)));
    }
    return result;
  }

  ast::Pattern regex(Tree node) {
    std::string text = node.str();
    text.erase(0, 1);
    if (text.ends_with('/')) text.pop_back();  // a missing one was reported
    return {std::move(text), true, node.span()};
  }

  const std::set<std::size_t>& given_back_;
  std::set<std::string, std::less<>> lost_;
};

}  // namespace

void build(const ParseTree& tree, Diagnostics& diagnostics, const std::set<std::size_t>& given_back, ast::File& file) {
  Builder builder(diagnostics, given_back);
  file.statements = builder.statements(Tree(tree, 0).all(R::statement));
  file.lost = builder.lost();
}

void build_statement(Tree statement, Diagnostics& diagnostics, ast::File& file) {
  static const std::set<std::size_t> kNone;
  Builder(diagnostics, kNone).add(statement, file.statements);
}

}  // namespace ampc::lang::syntax
