#include "ampc/lang/idle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ampc/diag/codes.h"
#include "ampc/lang/draft.h"

namespace ampc::lang {
namespace {

using Op = Predicate::Op;

constexpr std::size_t kMostWays = 64;  // conjunctions of a condition that are looked at; past that it is left in peace
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What is compared: `rank(A)`, an attribute, a measure of weights, a property.
struct Subject {
  std::string name;
  bool whole = false;  // a whole number
  bool known = false;  // at every node; else a comparison may fail both ways
  double least = -kInfinity;
  double most = kInfinity;
  const Predicate* type = nullptr;  // of type(X): where the operand stands
};

/// `subject op number`, `subject op "text"`, or that the subject holds.
struct Literal {
  Subject subject;
  Op op = Op::eq;
  std::optional<double> number;
  std::optional<std::string> text;
  bool positive = true;
};
using Way = std::vector<Literal>;

Op opposite(Op op) {
  constexpr std::array ops = {Op::ne, Op::eq, Op::ge, Op::gt, Op::le, Op::lt};
  return ops[static_cast<std::size_t>(op)];
}

Op mirrored(Op op) {
  constexpr std::array ops = {Op::eq, Op::ne, Op::gt, Op::ge, Op::lt, Op::le};
  return ops[static_cast<std::size_t>(op)];
}

// ---- atoms ----

std::string name_of(const Term& t) {
  switch (t.kind) {
    case Term::Kind::rank:
      return "rank(" + print(t.operand) + ")";
    case Term::Kind::dim:
      return "dim(" + print(t.operand) + ", " + std::to_string(static_cast<int>(t.number)) + ")";
    case Term::Kind::size:
      return "size(" + print(t.operand) + ")";
    case Term::Kind::type:
      return "type(" + print(t.operand) + ")";
    case Term::Kind::operand:
      return print(t.operand);
    case Term::Kind::opset:
      return "opset";
    default:
      return t.name;
  }
}

std::optional<Literal> atom(const Predicate& p, const Target& target) {
  Literal result;
  if (p.kind != Predicate::Kind::compare) {  // a property: it holds or not
    result.subject.name = print(p);
    result.subject.known = true;
    return result;
  }
  const bool left = p.left.kind == Term::Kind::number || p.left.kind == Term::Kind::text;
  const Term& subject = left ? p.right : p.left;
  const Term& value = left ? p.left : p.right;
  if (value.kind != Term::Kind::number && value.kind != Term::Kind::text) {
    if (p.op != Op::eq && p.op != Op::ne) return std::nullopt;
    std::array names = {name_of(p.left), name_of(p.right)};
    std::sort(names.begin(), names.end());
    result.subject.name = names[0] + " == " + names[1];
    result.positive = p.op == Op::eq;
    return result;
  }
  result.op = left ? mirrored(p.op) : p.op;
  result.subject.name = name_of(subject);
  if (value.kind == Term::Kind::number) result.number = value.number;
  if (value.kind == Term::Kind::text) result.text = value.text;
  switch (subject.kind) {
    case Term::Kind::rank:
    case Term::Kind::dim:
    case Term::Kind::size:
      result.subject.whole = true;
      result.subject.least = 0;
      break;
    case Term::Kind::opset:
      result.subject.whole = result.subject.known = true;
      result.subject.least = 1;
      break;
    case Term::Kind::type:
      result.subject.type = &p;
      break;
    case Term::Kind::attribute:
      if (const AttrFormal* a = target.known() ? Names::attribute(target, subject.name) : nullptr) {
        result.subject.whole = a->kind == AttrKind::integer;
      }
      break;
    default:
      break;
  }
  return result;
}

std::optional<Literal> atom(const WeightTest& t, const Target&) {
  constexpr std::array names = {"absmax", "underflow", "overflow", "size"};
  Literal result;
  result.subject.name = names[static_cast<std::size_t>(t.measure)];
  result.subject.known = true;
  result.subject.least = 0;
  result.subject.whole = t.measure == WeightTest::Measure::size;
  if (t.measure == WeightTest::Measure::underflow || t.measure == WeightTest::Measure::overflow) {
    result.subject.most = 1;
  }
  result.op = t.op;
  result.number = t.limit;
  return result;
}

// ---- ways in which a condition can hold ----

/// Conjunctions of which one has to hold, so that the condition holds, or does not; nothing where they are too many.
template <typename Condition>
std::optional<std::vector<Way>> ways(const Condition& c, const Target& target, bool holds) {
  using Kind = typename Condition::Kind;
  if (c.kind == Kind::none_of) return ways(c.parts.front(), target, !holds);
  if (c.kind != Kind::all && c.kind != Kind::any) {
    auto one = atom(c, target);
    if (!one) return std::nullopt;
    one->positive = one->positive == holds;
    return std::vector<Way>{{std::move(*one)}};
  }
  const bool either = (c.kind == Kind::any) == holds;
  std::vector<Way> result;
  if (!either) result.emplace_back();
  for (const Condition& part : c.parts) {
    auto some = ways(part, target, holds);
    if (!some) return std::nullopt;
    if (either) {
      std::move(some->begin(), some->end(), std::back_inserter(result));
    } else {
      std::vector<Way> joined;
      for (const Way& before : result) {
        for (const Way& more : *some) {
          joined.push_back(before);
          joined.back().insert(joined.back().end(), more.begin(), more.end());
        }
      }
      result = std::move(joined);
    }
    if (result.size() > kMostWays) return std::nullopt;
  }
  return result;
}

// ---- can they hold? ----

/// The types that the schemas let this operand have; nothing where it may be anything.
std::optional<ElemTypeSet> types_of(const OperandRef& operand, const Target& target) {
  if (!target.known()) return std::nullopt;
  ElemTypeSet result;
  for (const Signature* version : target.versions) {
    const Formal* f = Names::find_formal(*version, operand, false);
    if (f == nullptr) continue;
    if (!f->tensor_only) return std::nullopt;
    for (unsigned t = 1; t <= kLastElemType; ++t) {
      if (f->elems.contains(static_cast<ElemType>(t))) result.insert(static_cast<ElemType>(t));
    }
  }
  return result;
}

/// What is asked of one subject, all of it at once. Empty where something can be so, else why nothing can.
std::string refusal(const Subject& subject, const std::vector<const Literal*>& asked, const Target& target) {
  const bool known = subject.known || std::any_of(asked.begin(), asked.end(), [](const Literal* l) {
                       return l->positive && (l->number || l->text);
                     });
  double least = subject.least, most = subject.most;
  bool open_least = false, open_most = false, yes = false, no = false;
  std::set<double> not_number;
  std::set<std::string> texts, not_text;
  for (const Literal* l : asked) {
    if (!l->number && !l->text) {
      (l->positive ? yes : no) = true;
      continue;
    }
    if (!l->positive && !known) continue;  // what nothing tells is as well not so
    const Op op = l->positive ? l->op : opposite(l->op);
    if (l->text) {
      (op == Op::eq ? texts : not_text).insert(*l->text);
      continue;
    }
    const double n = *l->number;
    if (op == Op::ne) not_number.insert(n);
    if (op == Op::eq || op == Op::ge || op == Op::gt) {
      if (n > least || (n == least && op == Op::gt)) open_least = op == Op::gt;
      least = std::max(least, n);
    }
    if (op == Op::eq || op == Op::le || op == Op::lt) {
      if (n < most || (n == most && op == Op::lt)) open_most = op == Op::lt;
      most = std::min(most, n);
    }
  }
  if (yes && no) return "'" + subject.name + "' and its opposite";
  if (texts.size() > 1) return subject.name + " is one of them at a time";
  if (!texts.empty() && not_text.contains(*texts.begin())) return subject.name + " is asked to be so and not";
  if (subject.type != nullptr && texts.size() == 1) {
    const Term& type = subject.type->left.kind == Term::Kind::type ? subject.type->left : subject.type->right;
    const auto types = types_of(type.operand, target);
    if (types && !types->contains(elem_type(*texts.begin()))) {
      return "'" + print(type.operand) + "' of " + spelling(target.op) + " is never " + *texts.begin();
    }
  }
  if (subject.whole) {
    least = open_least ? std::floor(least) + 1 : std::ceil(least);
    most = open_most ? std::ceil(most) - 1 : std::floor(most);
    open_least = open_most = false;
    while (least <= most && not_number.contains(least)) ++least;
    while (least <= most && not_number.contains(most)) --most;
  }
  const bool none = least > most || (least == most && (open_least || open_most || not_number.contains(least)));
  return none ? "no " + subject.name + " is like that" : std::string();
}

std::string refusal(const Way& way, const Target& target) {
  std::map<std::string, std::vector<const Literal*>> by_subject;
  for (const Literal& l : way) by_subject[l.subject.name].push_back(&l);
  for (const auto& [name, asked] : by_subject) {
    if (std::string why = refusal(asked.front()->subject, asked, target); !why.empty()) return why;
  }
  return {};
}

/// Why the condition can never hold (or, not `holds`, never fail); empty where it can.
template <typename Condition>
std::string refusal(const Condition& c, const Target& target, bool holds) {
  const auto all = ways(c, target, holds);
  if (!all || all->empty()) return {};
  std::string first;
  for (const Way& way : *all) {
    std::string why = refusal(way, target);
    if (why.empty()) return {};
    if (first.empty()) first = std::move(why);
  }
  return first;
}

template <typename Condition>
void warn(const Condition& c, const Target& target, const Span& place, Diagnostics& diagnostics) {
  if (const std::string why = refusal(c, target, true); !why.empty()) {
    diagnostics.warning(codes::kIdleCondition, "this condition never holds")
        .at(place, why)
        .fix("change one of its parts, or leave the statement out");
  } else if (!refusal(c, target, false).empty()) {
    diagnostics.warning(codes::kIdleCondition, "this condition always holds")
        .at(place)
        .fix("leave it out where that is what is meant");
  }
}

}  // namespace

void warn_if_idle(const Predicate& condition, const Target& target, const Span& place, Diagnostics& diagnostics) {
  warn(condition, target, place, diagnostics);
}

void warn_if_idle(const WeightTest& condition, const Span& place, Diagnostics& diagnostics) {
  warn(condition, Target{}, place, diagnostics);
}

}  // namespace ampc::lang
