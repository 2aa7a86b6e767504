// The syntax of one rule file, as it was written: nothing is resolved here and every word knows its place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ampc/diag/diagnostic.h"
#include "ampc/lang/boxed.h"
#include "ampc/lang/rule_set.h"

namespace ampc::lang::ast {

struct Word {
  std::string text;
  Span span;
};

struct Number {
  double value = 0;
  bool percent = false;  // `value` is as written: 1% is 1
  bool whole = false;    // no point, no exponent
  std::string text;      // as written
  Span span;
};

/// `"glob"` or `/regex/`, without its quotes; in a glob \" and \\ are already undone.
struct Pattern {
  std::string text;
  bool regex = false;
  Span span;
};

/// `MatMul`, `com.microsoft::Gelu`, or an alias.
struct Op {
  std::string domain;
  std::string name;
  bool qualified = false;  // a domain is written
  Span span;
};

/// What stands before the colon in `deny O1, OD fp16: Exp`.
struct Qualifiers {
  std::vector<Word> levels;
  std::vector<Word> dtypes;
  bool empty() const { return levels.empty() && dtypes.empty(); }
};

/// `3` or `Scale`
struct Operand {
  static constexpr std::int64_t kNone = INT64_MIN;  // what was written is none, and reported
  std::optional<std::int64_t> position;             // as written, from 1
  std::string name;
  Span span;
};

struct Operands {
  bool every = false;         // `*`
  std::vector<Operand> list;  // with `every`: the exceptions
  Span span;
};

struct Term {
  enum class Kind : std::uint8_t { name, call, number, text };
  Kind kind = Kind::number;
  Word name;                    // name; of a call: rank, dim, size, type
  Operand operand;              // call
  std::optional<Number> index;  // call: dim(X, 1)
  Number number;
  std::string text;
  Span span;
};

struct Predicate {
  enum class Kind : std::uint8_t { all, any, none_of, compare, is };
  Kind kind = Kind::all;
  std::vector<Predicate> parts;  // all, any, none_of
  Term left, right;              // compare; `is` has left alone
  lang::Predicate::Op op = lang::Predicate::Op::eq;
  Word property;  // is: weight, constant, given
  Span span;
};

struct Statement;

/// What stands before a statement: `override`, `sealed`, or both.
struct Standing {
  bool overriding = false;  // replaces what imported files say
  bool sealed = false;      // no file that imports this one may replace it
};

struct Version {
  Number number;
};
struct Import {
  Word path;
  std::vector<Word> domains;  // after `for`
};
struct Setting {
  // "dtype", "level", "promote", "follow", "gray", "io", "overflow", "underflow", "shared", "master", "functions", "on
  // conflict", "rewrite …"
  Word key;
  Word value;
};
struct IoRule {
  Word value;
  std::vector<Pattern> patterns;
};
struct LevelDefinition {
  Word name;
  std::vector<Statement> body;
  bool open = false;  // its brace is missing, and was reported: what belongs behind it may stand in the body
};
/// `default low`, `weights use`, `off`: what stands in a level's body alone.
struct LevelPart {
  Word key;
  Word value;
};
struct List {
  Verdict verdict = Verdict::allow;
  Standing standing;
  Qualifiers qualifiers;
  std::vector<Op> ops;
  Boxed<Predicate> where;
};
/// `bounded Softmax, Sigmoid`, `commutes Add, Mul`, `moves Reshape`, `collective com.microsoft::NcclAllReduce`
struct Fact {
  FactRule::Fact fact = FactRule::Fact::bounded;
  std::vector<Op> ops;
};
struct OptimizerOperand {
  Operand operand;
  std::vector<Word> parts;
};
struct Optimizer {
  Op op;
  std::vector<OptimizerOperand> operands;
};
struct Backward {
  Pattern pattern;
  std::optional<Word> doc;
};
struct Role {
  Standing standing;
  std::vector<Op> ops;
  Qualifiers qualifiers;
  bool results = false;
  Operands operands;
  RoleAction action = RoleAction::keep_fp32;
  Word type;  // after keep and store: must be fp32
  Word from;  // exact from …: must be integers
};
struct Binding {
  Word formal;  // the operator's
  Word parameter;
};
struct AliasTarget {
  Op op;
  std::vector<Binding> bindings;
};
struct Alias {
  Word name;
  bool has_parameters = false;
  std::vector<Word> parameters;
  std::vector<AliasTarget> targets;
};
/// `more...: each T`
struct FormalDeclaration {
  Word name;
  bool optional = false;
  bool variadic = false;
  bool each = false;  // operands of a variadic one have types of their own
  Word type;
};
/// `k: int = 2`
struct AttributeDeclaration {
  Word name;
  bool optional = false;
  Word type;
  std::optional<Number> number;     // the default
  std::optional<std::string> text;  // the default
  Span value;                       // of the default
};
/// `T in fp32, fp16`
struct TypeVariable {
  Word name;
  std::vector<Word> types;
};
struct Extern {
  Standing standing;
  Op op;
  std::optional<Number> since;
  std::vector<AttributeDeclaration> attributes;
  std::vector<FormalDeclaration> inputs, outputs;
  std::vector<TypeVariable> types;
};
/// tensor, node, guard, weight: a statement about names.
struct NameRule {
  enum class Kind : std::uint8_t { tensor, node, guard, weight };
  Kind kind = Kind::tensor;
  std::vector<Pattern> patterns;
  Word action;  // "keep", "store", "low", "scale"; empty for guard
  Word type;    // after keep and store
};
/// `weight where absmax > 65504 and size < 100 keep fp32`
struct WeightCondition {
  Boxed<Predicate> where;  // always there
  Word type;
};
/// `pattern rms_norm(x, eps) { s = Pow(x, 2) | Mul(x, x) … } keep fp32`
struct GraphPattern {
  struct Argument;
  struct Call {
    Op op;
    std::vector<Argument> arguments;
    bool optional = false;  // `?`
    Span span;
  };
  struct Argument {
    enum class Kind : std::uint8_t { name, call, number, rest };
    Kind kind = Kind::name;
    Word name;
    Number number;
    std::vector<Call> call;  // of Kind::call: one
    Span span;
  };
  struct Alternative {
    Call call;
    Boxed<Predicate> where;
  };
  struct Step {
    std::vector<Word> results;
    std::vector<Alternative> alternatives;
    Span span;
  };
  Standing standing;
  Word name;
  Qualifiers qualifiers;
  std::vector<Word> parameters;
  std::vector<Step> steps;
  Word action;  // "keep", "follow", "off", or what was written
  Word type;    // after keep: must be fp32
};
struct Scope {
  std::vector<Pattern> patterns;
  std::vector<Statement> body;
  bool open = false;  // as of a level
};
struct Block {
  Word path;
  bool has_range = false;
  Number first, last;
  std::vector<Statement> body;
  bool open = false;  // as of a level
};

struct Statement {
  using Node = std::variant<Version, Import, Setting, IoRule, LevelDefinition, LevelPart, List, Fact, Optimizer,
                            Backward, Role, Alias, Extern, NameRule, WeightCondition, GraphPattern, Scope, Block>;
  Node node;
  Span span;        // whole
  Span keyword;     // its first word
  std::string doc;  // the lines of `///` above it, without the mark; the version's are the file's
};

struct File {
  FileId id = kNoFile;
  std::vector<Statement> statements;
  std::set<std::string, std::less<>> domains;  // of the operators that are written with one
  std::set<std::string, std::less<>> lost;     // names whose definition holds a syntax error
};

/// Parses a file that is in `sources`. Reports what is wrong with its syntax; what could be read stands in the result,
/// so that later stages can report their own faults too.
File parse(FileId id, const SourceMap& sources, Diagnostics& diagnostics);

/// The statements in the language's own words, one a line, normalised (one space, one spelling); bodies are indented.
std::string print(const File& file);
std::string print(const Statement& statement);
std::string print(const Predicate& predicate);

std::string_view spelling(Verdict verdict);
std::string_view spelling(RoleAction action);
std::string_view spelling(FactRule::Fact fact);
std::string_view spelling(OptimizerRule::Part part);
std::string_view spelling(TensorAction action);
std::string_view spelling(lang::Predicate::Op op);

}  // namespace ampc::lang::ast
