// Codes of what is wrong with what rules say: names, types, contradictions.
#include "ampc/diag/catalog.h"

namespace ampc::catalog {
namespace {

constexpr CodeText kList[] = {
    {"AMPC0101", "no-such-operator", "an operator that nothing knows", false,
     "Neither ONNX nor an `extern` declaration nor an alias has the name. Operators of other domains are\n"
     "written with it, com.acme::Router, and need no declaration.",
     "allow MatMull", "allow MatMul"},
    {"AMPC0102", "unknown-level", "a level that no rule file defines", false,
     "Levels are defined by rules; O0, O1, O2 and OD in levels.amp, which default.amp imports.", "deny O1: Exp",
     "import \"levels.amp\"\ndeny O1: Exp"},
    {"AMPC0103", "unknown-operand", "an operand that the operator has not got", false,
     "Operands are called as ONNX's schema calls them, at any opset, or as an alias names them.",
     "LayerNormalization arg Gamma keep fp32", "LayerNormalization arg Scale keep fp32"},
    {"AMPC0104", "no-such-position", "a position that the operator has not got", false,
     "Operands are counted from 1. Through an alias, its parameters are counted, not the operator's.",
     "LayerNormalization arg 7 keep fp32", "LayerNormalization arg 2 keep fp32"},
    {"AMPC0105", "unbound", "a parameter or a step that nothing uses", false,
     "A parameter of an alias that stands for no operand can have no role, and in a pattern every parameter\n"
     "and every step has to lead to the last step.",
     "alias norm(input, eps) = LayerNormalization(X: input)\nnorm arg eps keep fp32",
     "alias norm(input, eps) = LayerNormalization(X: input)\nnorm arg input keep fp32"},
    {"AMPC0106", "unknown-name", "a name that is neither an operand nor an attribute", false,
     "After `where` stand the operator's operands and attributes, as its schema calls them. In a pattern,\n"
     "a name is used in a later step than the one that binds it.",
     "deny Conv where groups > 1", "deny Conv where group > 1"},
    {"AMPC0107", "unknown-parameter", "a binding to a parameter that the alias does not list", false,
     "On the right of a binding stands a parameter of the alias, on the left the operator's own operand.",
     "alias norm(input) = LayerNormalization(X: inputs)", "alias norm(input) = LayerNormalization(X: input)"},
    {"AMPC0108", "alias-hides-operator", "an alias that is called like an operator", false,
     "The operator could not be named any more. Names of frontends begin with a small letter.", "alias MatMul = Gemm",
     "alias matmul = MatMul"},
    {"AMPC0109", "unknown-property", "a property or a measure that there is none of", false,
     "An operand is weight (stored with the model), constant or given. rank, dim, size and type tell its\n"
     "shape; of weights there are absmax, underflow, overflow and size.",
     "deny Gather where data is stored", "deny Gather where data is weight"},
    {"AMPC0110", "bad-declaration", "a declaration that makes no sense", false,
     "An `extern` declares an operator of your own, in a domain of your own, with every type variable bound\n"
     "by `where`. What ONNX has a schema of needs no declaration.",
     "extern com.acme::Mix(x: T) -> (y: U) where T in fp32, fp16 and U in fp32 and V in fp32",
     "extern com.acme::Mix(x: T) -> (y: U) where T in fp32, fp16 and U in fp32"},
    {"AMPC0111", "nearly-declared", "an operator beside a declared one of nearly that name", true,
     "The domain has declarations, and one of them is called nearly so; or nothing is known of the domain, and one\n"
     "that is known is called nearly so and has the operator. A rule for an operator that is not declared\n"
     "holds for nodes of that name only.",
     "extern com.acme::Router(x: T) -> (y: T) where T in fp32, fp16\nallow com.acme::Ruoter",
     "extern com.acme::Router(x: T) -> (y: T) where T in fp32, fp16\nallow com.acme::Router"},
    {"AMPC0201", "never-float", "a role on an operand that is never a float", false,
     "At no opset does the schema let this operand be a floating-point tensor, so there is nothing to keep.",
     "Gather arg indices keep fp32", "Gather arg data keep fp32"},
    {"AMPC0202", "never-low", "`allow` of an operator that no opset lowers", true,
     "ONNX's schemas have the operator in none of the low types, and a rule cannot lift that. Leave it out.",
     "allow NonMaxSuppression", "deny NonMaxSuppression"},
    {"AMPC0203", "bad-comparison", "two sides that do not go together", false,
     "Numbers are compared with numbers, names of types with type(X), operands with operands by == and !=.",
     "deny Mul where A > B", "deny Mul where A == B"},
    {"AMPC0204", "needs-position", "an operand by name where no schema tells the names", false,
     "Nothing declares the operator, so its operands have numbers only. Declare it, or count from 1.",
     "com.acme::Router arg w keep fp32", "com.acme::Router arg 2 keep fp32"},
    {"AMPC0205", "no-such-type", "a type that there is none of", false,
     "Types are fp32, fp16, bf16, fp64, the integers int8 to uint64, bool, string and their like; attributes\n"
     "are int, float, string, ints, floats, strings, tensor, graph or type.",
     "extern com.acme::Mix(x: T) -> (y: T) where T in fp23", "extern com.acme::Mix(x: T) -> (y: T) where T in fp32"},
    {"AMPC0206", "nothing-left", "`* except` every operand", false,
     "All operands that may be fp32 are excepted, so that the role is about none.", "Relu arg * except X keep fp32",
     "BatchNormalization arg * except X keep fp32"},
    {"AMPC0207", "idle-condition", "a condition that holds never, or always", true,
     "Its parts contradict each other, or ask for what cannot be: a type that the schema does not have there,\n"
     "a measure below 0. Where it never holds, the statement decides nothing; where it always does, `where` is\n"
     "not needed. A shape that nothing tells compares with no number, so `rank(A) >= 0` is no such condition.",
     "deny Mul where rank(A) == 2 and rank(A) == 3", "deny Mul where rank(A) == 2 or rank(A) == 3"},
    {"AMPC0301", "contradiction", "two statements of one rank that say different things", false,
     "Order has no meaning in rule files: of two statements of the same rank neither wins. Remove one, say\n"
     "`override` where one of the two is imported, or make one narrower with `where`, a level or a scope.",
     "allow Exp\ndeny Exp", "deny Exp"},
    {"AMPC0302", "duplicate", "something that is said twice", true,
     "The second one changes nothing. Within one list it is an error: most likely another name was meant.",
     "deny Exp, Exp", "deny Exp, Log"},
    {"AMPC0303", "setting-twice", "a setting with two values", false,
     "In one place a setting has one value. What a file sets wins over what it imports; a scope has its own.",
     "level O1\nlevel O2\nimport \"levels.amp\"", "level O1\nimport \"levels.amp\""},
    {"AMPC0304", "defined-twice", "a level, an alias or an operator that is defined twice", false,
     "Both definitions are shown. An imported operator's declaration is replaced by `override extern`.",
     "alias mm = MatMul\nalias mm = Gemm", "alias mm = MatMul, Gemm"},
    {"AMPC0305", "nothing-to-override", "`override` that finds nothing", false,
     "`override` changes what an imported file says, of the same operator at the same levels and types. Where\n"
     "nothing is imported that says so, leave the word out: a misspelt override would go unnoticed.",
     "override deny Gelu", "deny Gelu"},
    {"AMPC0306", "sealed", "a statement against what an imported file seals", false,
     "`sealed deny Log` in a file forbids all others that are compiled with it to say something else of the\n"
     "operator, be it by `override`, by `where` or within a scope. Rules that name nodes or values are not\n"
     "about the operator, and hold. Lists, roles, patterns and declarations can be sealed.",
     "", "sealed deny Log"},
};

}  // namespace

std::span<const CodeText> meaning() { return kList; }

}  // namespace ampc::catalog
