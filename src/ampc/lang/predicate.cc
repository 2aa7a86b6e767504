// `where` clauses: names become operands or attributes, and both sides of a comparison must go together.
#include <algorithm>
#include <cmath>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/draft.h"
#include "ampc/lang/idle.h"
#include "ampc/lang/synonyms.h"

namespace ampc::lang {

namespace {

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (unsigned t = 1; t <= static_cast<unsigned>(ElemType::bfloat16); ++t) {
    names.emplace_back(short_name(static_cast<ElemType>(t)));
  }
  return names;
}

// What a side of a comparison can be compared with.
enum class Sort { number, text, type, operand };

struct Side {
  Term term;
  Sort sort = Sort::number;
};

class PredicateResolver {
 public:
  PredicateResolver(const Target& target, const Names& names, Diagnostics& diagnostics)
      : target_(target), names_(names), diagnostics_(diagnostics) {}

  std::optional<Predicate> run(const ast::Predicate& p) {
    Predicate result;
    result.span = p.span;
    switch (p.kind) {
      case ast::Predicate::Kind::all:
      case ast::Predicate::Kind::any:
      case ast::Predicate::Kind::none_of:
        result.kind = p.kind == ast::Predicate::Kind::all   ? Predicate::Kind::all
                      : p.kind == ast::Predicate::Kind::any ? Predicate::Kind::any
                                                            : Predicate::Kind::none_of;
        for (const ast::Predicate& part : p.parts) {
          auto one = run(part);
          if (one) {
            result.parts.push_back(std::move(*one));
          } else {
            failed_ = true;
          }
        }
        break;
      case ast::Predicate::Kind::is:
        if (!property(p, &result)) return std::nullopt;
        break;
      case ast::Predicate::Kind::compare:
        if (!compare(p, &result)) return std::nullopt;
        break;
    }
    if (failed_) return std::nullopt;
    return result;
  }

 private:
  bool property(const ast::Predicate& p, Predicate* result) {
    const std::string& word = p.property.text;
    if (word == "weight") {
      result->kind = Predicate::Kind::is_weight;
    } else if (word == "constant") {
      result->kind = Predicate::Kind::is_constant;
    } else if (word == "given") {
      result->kind = Predicate::Kind::is_given;
    } else {
      auto& d = diagnostics_.error(codes::kUnknownProperty, "no operand is " + quote(word)).at(p.property.span);
      suggest(d, word, std::vector<std::string>{"weight", "constant", "given"});
      d.fix("an operand is 'weight' (stored with the model), 'constant' or 'given' (not left out)");
      return false;
    }
    ast::Operand operand;
    operand.span = p.left.span;
    if (p.left.kind == ast::Term::Kind::name) {
      operand.name = p.left.name.text;
    } else if (p.left.kind == ast::Term::Kind::number && p.left.number.whole) {
      operand.position = static_cast<std::int64_t>(p.left.number.value);
    } else {
      diagnostics_.error(codes::kBadComparison, "only an operand can be " + quote(word))
          .at(p.left.span)
          .fix("write the operand's name, without quotes, or its number");
      return false;
    }
    auto ref = names_.operand(target_, operand, false);
    if (!ref) return false;
    result->operand = std::move(*ref);
    return true;
  }

  bool compare(const ast::Predicate& p, Predicate* result) {
    const bool types = is_type_call(p.left) || is_type_call(p.right);
    if (is_bare_text(p.left, p.right) || is_bare_text(p.right, p.left)) return false;
    auto left = side(p.left, types);
    auto right = side(p.right, types);
    if (!left || !right) return false;
    if (left->sort != right->sort) return mismatch(p, *left, *right);
    const bool order = p.op != Predicate::Op::eq && p.op != Predicate::Op::ne;
    if (order && left->sort != Sort::number) {
      diagnostics_
          .error(codes::kBadComparison, std::string(plural(left->sort)) + " are equal or not; '" +
                                            std::string(ast::spelling(p.op)) + "' has no meaning for them")
          .at(p.span)
          .fix("write '==' or '!='");
      return false;
    }
    const auto constant = [](const ast::Term& t) {
      return t.kind == ast::Term::Kind::number || t.kind == ast::Term::Kind::text;
    };
    if (constant(p.left) && constant(p.right)) {
      diagnostics_
          .error(codes::kBadComparison,
                 "this compares two " + std::string(plural(left->sort)) + " and says nothing of the node")
          .at(p.span)
          .fix("compare an attribute of the operator, or rank(X), dim(X, 0), size(X) or type(X) of an operand");
      return false;
    }
    if (!sensible(p.left, left->term, p.right, p.op, false) || !sensible(p.right, right->term, p.left, p.op, true)) {
      return false;
    }
    result->kind = Predicate::Kind::compare;
    result->op = p.op;
    result->left = std::move(left->term);
    result->right = std::move(right->term);
    return true;
  }

  // A comparison of `what` with a number that it never is, or always: `rank(W) == 2.5`, `group > 5%`.
  bool sensible(const ast::Term& what, const Term& term, const ast::Term& other, Predicate::Op op, bool mirrored) {
    if (other.kind != ast::Term::Kind::number || what.kind == ast::Term::Kind::number) return true;
    const double limit = other.number.value;
    const std::string name = what.kind == ast::Term::Kind::call ? what.name.text + "(" + print(term.operand) +
                                                                      (what.index ? ", " + what.index->text : "") + ")"
                                                                : what.name.text;
    const AttrFormal* attribute =
        term.kind == Term::Kind::attribute && target_.known() ? Names::attribute(target_, term.name) : nullptr;
    const bool counts = term.kind == Term::Kind::rank || term.kind == Term::Kind::dim ||
                        term.kind == Term::Kind::size || term.kind == Term::Kind::opset;
    const bool whole = counts || (attribute != nullptr && attribute->kind == AttrKind::integer);
    if (whole && other.number.percent) {
      diagnostics_.error(codes::kBadNumber, quote(name) + " is no share: a percentage has no meaning for it")
          .at(other.span)
          .fix("compare it with a number");
      return false;
    }
    const bool equality = op == Predicate::Op::eq || op == Predicate::Op::ne;
    if (whole && equality && limit != std::floor(limit)) {
      diagnostics_.error(codes::kBadNumber, quote(name) + " is a whole number, never " + other.number.text)
          .at(other.span)
          .fix("compare it with a whole number, or by '<' or '>'");
      return false;
    }
    // `rank(W) < 0` and its like hold nowhere, `rank(W) >= 0` everywhere.
    const bool below = op == Predicate::Op::lt || op == Predicate::Op::ge;
    const bool above = op == Predicate::Op::gt || op == Predicate::Op::le;
    const bool at_zero = mirrored ? above : below;
    if (counts && (limit < 0 || (limit == 0 && at_zero))) {
      diagnostics_.error(codes::kBadNumber, quote(name) + " is never below 0: this holds always or never")
          .at(other.span)
          .fix("compare it with 1 or more, or leave the comparison out");
      return false;
    }
    return true;
  }

  // `auto_pad == SAME_UPPER`: the quotes are missing.
  bool is_bare_text(const ast::Term& attribute, const ast::Term& text) {
    if (attribute.kind != ast::Term::Kind::name || text.kind != ast::Term::Kind::name) return false;
    const AttrFormal* a = Names::attribute(target_, attribute.name.text);
    const std::string& word = text.name.text;
    if (a == nullptr || a->kind != AttrKind::string || word == "opset" || Names::formal(target_, word, false) ||
        Names::attribute(target_, word) != nullptr) {
      return false;
    }
    const std::string quoted = "\"" + word + "\"";
    diagnostics_.error(codes::kBadComparison, "a text stands in quotes")
        .at(text.span)
        .fix("write " + quoted)
        .edit(text.span, quoted);
    return true;
  }

  static bool is_type_call(const ast::Term& t) { return t.kind == ast::Term::Kind::call && t.name.text == "type"; }

  static std::string_view plural(Sort sort) {
    constexpr std::string_view words[] = {"numbers", "texts", "types", "operands"};
    return words[static_cast<std::size_t>(sort)];
  }

  static std::string_view single(Sort sort) {
    constexpr std::string_view words[] = {"a number", "a text", "a type", "an operand"};
    return words[static_cast<std::size_t>(sort)];
  }

  bool mismatch(const ast::Predicate& p, const Side& left, const Side& right) {
    auto& d = diagnostics_
                  .error(codes::kBadComparison,
                         std::string(single(left.sort)) + " is compared with " + std::string(single(right.sort)))
                  .at(p.span);
    if (left.sort == Sort::operand || right.sort == Sort::operand) {
      const std::string name = print(left.sort == Sort::operand ? left.term.operand : right.term.operand);
      d.fix("of an operand one can ask rank(" + name + "), dim(" + name + ", 0), size(" + name + "), type(" + name +
            ") or '" + name + " is weight'");
    } else if (left.sort == Sort::type || right.sort == Sort::type) {
      d.fix("types are written without quotes: type(X) == fp32");
    } else {
      const ast::Term& named = p.left.kind == ast::Term::Kind::name ? p.left : p.right;
      const bool number = (p.left.kind == ast::Term::Kind::name ? left.sort : right.sort) == Sort::number;
      if (named.kind == ast::Term::Kind::name) {
        d.fix(quote(named.name.text) +
              (number ? " is a number, which stands without quotes" : " is a text, which stands in quotes"));
      } else {
        d.fix("numbers stand without quotes");
      }
    }
    return false;
  }

  std::optional<Side> side(const ast::Term& t, bool types) {
    switch (t.kind) {
      case ast::Term::Kind::number: {
        Side s;
        s.term.number = t.number.percent ? t.number.value / 100 : t.number.value;
        return s;
      }
      case ast::Term::Kind::text: {
        Side s{{}, Sort::text};
        s.term.kind = Term::Kind::text;
        s.term.text = t.text;
        return s;
      }
      case ast::Term::Kind::call:
        return call(t);
      case ast::Term::Kind::name:
        break;
    }
    return name(t, types);
  }

  std::optional<Side> call(const ast::Term& t) {
    Side s;
    const std::string& f = t.name.text;
    if (f == "rank") {
      s.term.kind = Term::Kind::rank;
    } else if (f == "dim") {
      s.term.kind = Term::Kind::dim;
    } else if (f == "size") {
      s.term.kind = Term::Kind::size;
    } else if (f == "type") {
      s.term.kind = Term::Kind::type;
      s.sort = Sort::type;
    } else {
      auto& d = diagnostics_.error(codes::kUnknownProperty, "nothing is called " + quote(f + "(...)")).at(t.name.span);
      const std::string_view meant = question_meant(f);
      if (meant.empty()) {
        suggest(d, f, std::vector<std::string>{"rank", "dim", "size", "type"});
      } else {
        d.at(t.name.span, "did you mean " + quote(meant) + "?").edit(t.name.span, std::string(meant));
      }
      if (d.label.empty()) d.fix("of an operand one can ask rank(X), dim(X, 0), size(X) and type(X)");
      return std::nullopt;
    }
    if (t.index.has_value() != (s.term.kind == Term::Kind::dim)) {
      diagnostics_
          .error(codes::kBadComparison,
                 s.term.kind == Term::Kind::dim ? "which dimension?" : quote(f) + " takes an operand alone")
          .at(t.span)
          .fix(s.term.kind == Term::Kind::dim
                   ? "write dim(X, 0) for the first, dim(X, -1) for the last"
                   : "write " + f + "(" + (t.operand.name.empty() ? "X" : t.operand.name) + ")");
      return std::nullopt;
    }
    if (t.index) {
      if (!t.index->whole || std::abs(t.index->value) > 64) {
        diagnostics_.error(codes::kBadNumber, "no tensor has a dimension " + t.index->text)
            .at(t.index->span)
            .fix("dimensions are counted from 0: dim(X, 0) is the first, dim(X, -1) the last");
        return std::nullopt;
      }
      s.term.number = t.index->value;
    }
    auto ref = names_.operand(target_, t.operand, false);
    if (!ref) return std::nullopt;
    s.term.operand = std::move(*ref);
    return s;
  }

  std::optional<Side> name(const ast::Term& t, bool types) {
    const std::string& word = t.name.text;
    Side s;
    if (types) {
      const std::vector<std::string> known = type_names();
      s.sort = Sort::type;
      s.term.kind = Term::Kind::text;
      s.term.text = word;
      if (std::find(known.begin(), known.end(), word) != known.end()) return s;
      auto& d = diagnostics_.error(codes::kUnknownName, "no type is called " + quote(word)).at(t.span);
      const std::string_view meant = type_meant(word);
      if (meant.empty()) {
        suggest(d, word, known);
      } else {
        d.at(t.span, "did you mean " + quote(meant) + "?").edit(t.span, std::string(meant));
      }
      if (d.label.empty()) d.fix("types are " + list_of(known, false, "and"));
      return std::nullopt;
    }
    if (word == "opset") {
      s.term.kind = Term::Kind::opset;
      return s;
    }
    if (auto formal = Names::formal(target_, word, false)) {
      s.sort = Sort::operand;
      s.term.kind = Term::Kind::operand;
      s.term.operand = {-1, std::move(*formal), t.span};
      return s;
    }
    s.term.kind = Term::Kind::attribute;
    s.term.name = word;
    if (!target_.known()) return s;
    const AttrFormal* attribute = Names::attribute(target_, word);
    if (attribute == nullptr) return unknown_name(t);
    if (attribute->kind == AttrKind::integer || attribute->kind == AttrKind::floating) return s;
    if (attribute->kind == AttrKind::string) {
      s.sort = Sort::text;
      return s;
    }
    diagnostics_
        .error(codes::kBadComparison,
               "the attribute " + quote(word) + " of " + spelling(target_.op) + " is neither a number nor a text")
        .at(t.span)
        .fix("ask an operand's shape or type, or an attribute that is one number or one text");
    return std::nullopt;
  }

  std::optional<Side> unknown_name(const ast::Term& t) {
    const std::string& word = t.name.text;
    auto& d = diagnostics_
                  .error(codes::kUnknownName,
                         spelling(target_.op) + " has neither an operand nor an attribute " + quote(word))
                  .at(t.span);
    std::vector<std::string> names = Names::operand_names(target_, false);
    const std::vector<std::string> attributes = Names::attribute_names(target_);
    names.insert(names.end(), attributes.begin(), attributes.end());
    if (elem_type(word) != ElemType::undefined) {
      d.fix("to ask for a type, write type(" + (names.empty() ? "X" : names[0]) + ") == " + word);
      return std::nullopt;
    }
    suggest(d, word, names);
    if (!d.label.empty()) return std::nullopt;
    names.clear();
    for (const Formal& f : target_.versions.back()->inputs) names.push_back(f.name);
    for (const AttrFormal& a : target_.versions.back()->attributes) names.push_back(a.name);
    d.fix(names.empty() ? "it has none at all" : "it has " + list_of(names, false, "and"));
    return std::nullopt;
  }

  const Target& target_;
  const Names& names_;
  Diagnostics& diagnostics_;
  bool failed_ = false;
};

}  // namespace

std::optional<Predicate> resolve_predicate(const ast::Predicate& predicate, const Target& target, const Names& names,
                                           Diagnostics& diagnostics) {
  auto result = PredicateResolver(target, names, diagnostics).run(predicate);
  if (result) warn_if_idle(*result, target, predicate.span, diagnostics);
  return result;
}

}  // namespace ampc::lang
