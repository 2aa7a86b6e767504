// What a set of rule files means: the immutable result of the front end and the only thing of it that passes see.
//
// Names are resolved (operators to domain and name, operands to formals or positions, levels to indices), imports are
// merged, overrides applied, contradictions reported. Nothing here depends on the order of statements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/diag/diagnostic.h"
#include "ampc/lang/boxed.h"
#include "ampc/model/elem_type.h"
#include "ampc/model/operators.h"

namespace ampc::lang {

enum class Verdict : std::uint8_t { allow, deny, follow, unsupported, leave };

/// An operator's full name.
struct OpName {
  std::string domain;  // "" is ai.onnx
  std::string name;
  bool operator==(const OpName&) const = default;
  auto operator<=>(const OpName&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 misreads the zero
};

/// For which levels and data types a statement holds: `deny O1, OD fp16: Exp`.
struct When {
  std::uint32_t levels = 0xffffffffU;  // bit i: RuleSet::levels[i]
  bool fp16 = true;
  bool bf16 = true;
  bool holds(std::size_t level, ElemType low) const {
    return ((levels >> level) & 1U) != 0 && (low == ElemType::float16 ? fp16 : bf16);
  }
};

/// An operand or a result of an operator, as a rule names it.
struct OperandRef {
  int position = -1;  // 0-based; -1 where the rule gives a name
  std::string name;   // formal name in the schema (aliases are already resolved)
  Span span;
};

/// One side of a comparison in a `where` clause.
struct Term {
  enum class Kind : std::uint8_t {
    attribute,  // name; the schema's default where the node has none
    operand,    // operand
    rank,       // rank(operand)
    dim,        // dim(operand, number)
    size,       // size(operand): element count
    type,       // type(operand), compared with a type name in `text`
    number,     // number
    text,       // text
    opset,      // version of the operator's domain that the model imports
  };
  Kind kind = Kind::number;
  std::string name;
  OperandRef operand;
  double number = 0;
  std::string text;
};

/// `where` clause. A comparison with something unknown (a rank that nothing tells) does not hold.
struct Predicate {
  enum class Kind : std::uint8_t { all, any, none_of, compare, is_weight, is_constant, is_given };
  enum class Op : std::uint8_t { eq, ne, lt, le, gt, ge };
  Kind kind = Kind::all;
  std::vector<Predicate> parts;  // all (and), any (or), none_of (not)
  Op op = Op::eq;
  Term left, right;    // compare
  OperandRef operand;  // is_weight (an initializer or Constant that reaches it), is_constant, is_given
  Span span;
};

/// A glob (`*` within a path segment, `**` across, `?`, `{a,b}`, `{0..3}`) or a regular expression (RE2, whole name).
class NamePattern {
 public:
  /// Empty result and `error` set where the text is no pattern.
  static std::optional<NamePattern> glob(std::string_view text, std::string* error);
  static std::optional<NamePattern> regex(std::string_view text, std::string* error);
  bool matches(std::string_view name) const;
  /// What the expression's first group matched; nothing where the whole does not match.
  std::optional<std::string> group(std::string_view name) const;
  int groups() const;  // of a regular expression
  const std::string& text() const { return text_; }
  bool is_regex() const { return regex_; }

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
  std::string text_;
  bool regex_ = false;
};

using ScopeId = std::uint32_t;
inline constexpr ScopeId kWholeModel = 0;  // scopes[0], the file level

struct OpRule {
  Verdict verdict = Verdict::allow;
  OpName op;
  When when;
  ScopeId scope = kWholeModel;
  Boxed<Predicate> where;
  Span span;  // of the operator's name in the list
};

enum class RoleAction : std::uint8_t {
  keep_fp32,   // R6: fp32 where the operator reads (or makes) it
  store_fp32,  // R7: fp32 on disk, cast at use
  exact,       // R33: whatever computes this operand stays fp32 (Resize scales)
  // R33: of an operand, stays fp32 as far back as it is computed from integers alone (Sin, Cos of positions); of a
  // result, its elements are such integers themselves (Range, CumSum).
  exact_from_integers,
  saturate,  // R25: a bound that only limits; a value beyond low's range becomes low's largest
  factor,    // R25: the result is as small as this operand: what a factor of 1e-9 makes is held in fp32 too
};

struct RoleRule {
  OpName op;
  bool results = false;  // `result` instead of `arg`
  bool except = false;   // `* except operands`
  bool every = false;    // `*`
  std::vector<OperandRef> operands;
  std::vector<std::string> attributes;  // keep fp32: numbers that the operator computes with in fp32 in any case
  RoleAction action = RoleAction::keep_fp32;
  When when;
  ScopeId scope = kWholeModel;
  Span span;
};

/// A statement about an operator as a whole.
struct FactRule {
  enum class Fact : std::uint8_t {
    bounded,     // R25: whatever goes in, what comes out fits low
    collective,  // R27: joins tensors of several devices, in whatever type they come: an all-reduce
    commutes,    // R34: its operands may stand in any order
    // The elements of its results are elements of the first operand, or constants: it is cast before as well as behind.
    moves,
  };
  Fact fact = Fact::bounded;
  OpName op;
  Span span;
};

/// `optimizer ai.onnx.preview.training::Adam(inputs: parameter gradient state state)` (R27)
struct OptimizerRule {
  enum class Part : std::uint8_t { parameter, gradient, state };
  struct Slot {
    OperandRef operand;
    std::vector<Part> parts;  // several: a variadic operand's equal stretches
  };
  OpName op;
  std::vector<Slot> slots;
  Span span;
};

/// `backward /(.+)_Grad\/.+/ doc "Backward pass"` (R27): the first group names the forward node.
struct BackwardRule {
  NamePattern pattern;
  std::string doc;  // what doc_string must be; empty: anything
  Span span;
};

enum class TensorAction : std::uint8_t {
  keep_fp32,
  store_fp32,
  scale,  // R27: a loss scale: what is computed from it alone, and what reads that, is fp32
};

/// `pattern rms_norm(x, eps) { s = Pow(x, 2) | Mul(x, x) … y = Div(x, r) } keep fp32` (R34): a small graph that is
/// decided as one. Its last step is what it is found by; the others are what that step is computed from.
struct PatternRule {
  enum class Action : std::uint8_t { keep_fp32, low, follow };
  static constexpr std::uint32_t kAnything = 0xffffffffU;

  /// What stands at an operand: a value of the pattern, a constant, or anything (`_`).
  struct Argument {
    OperandRef operand;
    std::uint32_t value = kAnything;  // index into PatternRule::values
    std::optional<double> constant;
  };
  struct Call {
    OpName op;
    std::vector<Argument> arguments;
    bool more = false;      // `*`: whatever operands follow
    bool optional = false;  // `?`: where it is missing, its first operand stands in its place
    Boxed<Predicate> where;
  };
  /// One of its calls makes its values.
  struct Step {
    std::vector<Call> calls;
    std::vector<std::uint32_t> results;  // values by result; kAnything for `_`
    Span span;
  };
  struct Value {
    std::string name;                // empty for a call within a call
    std::uint32_t step = kAnything;  // kAnything: a parameter
    std::uint32_t slot = 0;          // which result of the step
  };

  std::string name;
  std::vector<Value> values;  // the parameters first
  std::vector<Step> steps;
  std::uint32_t root = 0;  // the last step as it was written
  Action action = Action::keep_fp32;
  When when;
  ScopeId scope = kWholeModel;
  Span span;  // of the name
};

struct TensorRule {
  NamePattern pattern;
  TensorAction action = TensorAction::keep_fp32;
  ScopeId scope = kWholeModel;
  Span span;
};

struct NodeRule {
  NamePattern pattern;
  bool low = false;  // `low` instead of `keep fp32`
  ScopeId scope = kWholeModel;
  Span span;
};

struct GuardRule {
  NamePattern pattern;
  Span span;
};

/// What is asked of a weight's values: `absmax > 100 and not size < 64`.
struct WeightTest {
  enum class Kind : std::uint8_t { all, any, none_of, compare };
  enum class Measure : std::uint8_t { absmax, underflow, overflow, size };  // underflow, overflow: fractions 0…1
  Kind kind = Kind::compare;
  std::vector<WeightTest> parts;  // all (and), any (or), none_of (not)
  Measure measure = Measure::absmax;
  Predicate::Op op = Predicate::Op::gt;
  double limit = 0;
};

/// `weight "name" keep fp32`, `weight where absmax > 65504 keep fp32`
struct WeightRule {
  std::optional<NamePattern> pattern;
  std::optional<WeightTest> where;
  ScopeId scope = kWholeModel;
  Span span;
};

enum class Io : std::uint8_t { keep, low };
struct IoRule {
  NamePattern pattern;
  Io io = Io::keep;
  Span span;
};

enum class Overflow : std::uint8_t { keep, clamp, inf, error };
enum class Underflow : std::uint8_t { keep, flush };
enum class Functions : std::uint8_t { keep, inlined };
enum class Shared : std::uint8_t { fp32, low, both };
enum class Master : std::uint8_t { keep, rounded };
enum class FollowMode : std::uint8_t { any, last };
enum class Gray : std::uint8_t {
  local,  // each by its own operands (R14, R15)
  cut,    // all at once (R16)
};
enum class OnConflict : std::uint8_t { node, store, error };

/// Settings of a file, a scope or the command line; what is absent is inherited.
struct Settings {
  std::optional<ElemType> dtype;  // float16 or bfloat16
  std::optional<std::uint32_t> level;
  std::optional<bool> promote;
  std::optional<FollowMode> follow;
  std::optional<Gray> gray;
  std::optional<Io> io;
  std::optional<Overflow> overflow;
  std::optional<Underflow> underflow;
  std::optional<Shared> shared;
  std::optional<Functions> functions;
  std::optional<Master> master;
  std::optional<OnConflict> on_conflict;
  // What removes casts that are not needed.
  std::optional<bool> rewrite_creators;  // R20: creators make low themselves; on unless said otherwise
  std::optional<bool> rewrite_moved;     // casts change places with what only moves elements; off unless said otherwise
  std::optional<bool> rewrite_redundant;  // casts of the model's own that change nothing; on unless said otherwise
};

/// `level O2 { default low  weights low }`
struct Level {
  enum class Weights : std::uint8_t {
    keep,  // stay fp32 in the file, cast when the model runs
    use,   // stored low where every reader wants low (R24)
    low,   // stored low, cast up for a reader in fp32 (O2)
  };
  std::string name;
  bool default_low = false;
  bool off = false;  // O0
  Weights weights = Weights::use;
  Span span;
};

struct Scope {
  ScopeId parent = kWholeModel;
  std::vector<NamePattern> patterns;  // of the scope's path; empty for scopes[0]
  Settings settings;                  // of scopes[0]: the defaults of the rule files
  // Of `block "main/If_3.then_branch" nodes [1,3)`: the block's path and a half-open range of node positions.
  std::string block;
  std::uint32_t first = 0;
  std::uint32_t last = 0xffffffffU;
  Span span;
};

struct RuleSet {
  std::shared_ptr<const Operators> operators =
      std::make_shared<const Operators>();  // ONNX's, and what `extern` declares
  std::vector<Level> levels;
  std::vector<Scope> scopes;  // a parent stands before its children
  std::vector<OpRule> ops;
  std::vector<RoleRule> roles;
  std::vector<FactRule> facts;
  std::vector<OptimizerRule> optimizers;
  std::vector<BackwardRule> backward;
  std::vector<PatternRule> patterns;
  std::vector<TensorRule> tensors;
  std::vector<NodeRule> nodes;
  std::vector<GuardRule> guards;
  std::vector<WeightRule> weights;
  std::vector<IoRule> io;
  std::vector<std::string> files;  // every rule file reached, as it was spelt; the root first

  std::optional<std::uint32_t> level(std::string_view name) const;
};

struct CompileOptions {
  std::vector<std::string> import_dirs;  // -I, in order
  std::string installed_rules;           // last place to look
  std::vector<std::string> more_rules;   // files that the root is taken to import as well: `--target`
  /// Domains that the model uses, for `import … for`; may wait for the model. Without it every import counts.
  std::function<std::set<std::string>()> model_domains = nullptr;
  std::optional<std::string> root_text = std::nullopt;  // of the root, instead of what its file holds
};

/// Text to RuleSet. Reports every fault; the result is empty when there was an error.
std::optional<RuleSet> compile(const std::string& path, const CompileOptions& options, SourceMap& sources,
                               Diagnostics& diagnostics);

/// `--emit ast`: the root file's statements, one a line, in the order of the file.
std::optional<std::string> dump_ast(const std::string& path, SourceMap& sources, Diagnostics& diagnostics);
/// `--emit rules`: the resolved rules, sorted, so that equal sets print equal text.
std::string dump_rules(const RuleSet& rules);

}  // namespace ampc::lang
