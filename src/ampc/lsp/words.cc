#include "ampc/lsp/words.h"

#include <algorithm>

namespace ampc::lsp {
namespace {

constexpr Word kStatements[] = {
    {"amp", "`amp 1` stands first: the version of the rule language."},
    {"import",
     "`import \"default.amp\"` adds the rules of another file, which is looked for beside this one, in the `-I` "
     "folders, then among the rules that come with ampc. With `for com.acme` it is read only where the rules or "
     "the model name that domain."},
    {"allow", "`allow MatMul, Gemm`: nodes of these operators run in the low type."},
    {"deny", "`deny Exp, Log`: nodes of these operators stay fp32."},
    {"follow",
     "`follow Add, Relu`: nodes of these operators are low where what produces their operands is low. As a "
     "setting, `follow any` or `follow last`, it says of which operands."},
    {"unsupported",
     "`unsupported bf16: Shrink`: the runtime has no low kernel for these operators, so that they are fp32 "
     "whatever else is said."},
    {"leave", "`leave Foo`: nodes of these operators are left as they are, with all their types."},
    {"bounded", "`bounded Softmax`: whatever goes in, what comes out fits the low type."},
    {"commutes", "`commutes Add, Mul`: their operands may stand in any order, which patterns make use of."},
    {"moves",
     "`moves Reshape`: elements of the results are elements of the first operand, so that a cast before it can "
     "stand behind it as well."},
    {"collective", "`collective com.acme::AllReduce`: joins tensors of several devices, in whatever type they come."},
    {"optimizer",
     "`optimizer com.acme::Lion(w: parameter, g: gradient, m: state)`: the operator updates parameters; it "
     "runs in fp32, and so do parameters and states."},
    {"backward",
     "`backward /(.+)_Grad\\/.+/`: such nodes belong to the forward node that the group names, and are "
     "decided like it."},
    {"override", "Changes what an imported file says: `override deny Softmax`. It has to find something to override."},
    {"sealed", "No file that imports this one may override the statement: `sealed deny Softmax`."},
    {"alias",
     "`alias layer_norm(input, shape, weight) = LayerNormalization(X: input, Scale: weight)`: another name for "
     "operators, with names for their operands."},
    {"extern",
     "`extern com.acme::FusedMoe(x: T, w: T) -> (y: T) where T in fp32, fp16` declares an operator that ONNX "
     "has no schema of."},
    {"tensor",
     "`tensor \"*learning_rate*\" keep fp32`: whatever reads or makes a value of such a name is fp32. "
     "`store fp32` keeps it in the file alone, `scale` says that it is a loss scale."},
    {"node", "`node \"/head/**\" keep fp32`: nodes of such names stay fp32, or are `low`."},
    {"guard", "`guard \"*fp16*\"`: once there is a guard, only nodes in a scope that it names may be lowered."},
    {"pattern",
     "`pattern rms_norm(x, eps) { … } keep fp32`: a small graph that is decided as one, with no cast in it. It "
     "is found by its last step."},
    {"scope", "`scope \"/decoder/**\" { … }`: what stands within holds for nodes in there alone."},
    {"block",
     "`block \"main/If_3.then_branch\" nodes [1,3) { … }`: what stands within holds for a range of a graph's "
     "nodes."},
    {"weight",
     "`weight where absmax > 1000 keep fp32`, or names in quotes: such weights stay fp32, with the nodes that "
     "read them. In a condition, `x is weight`: an initializer or a constant."},
};

constexpr Word kOthers[] = {
    {"for", "`import … for com.acme`: only where the rules or the model name this domain."},
    {"conflict",
     "`on conflict node`: what becomes of `keep fp32` where the schema ties the operand's type to that of others."},
    {"doc", "`backward /…/ doc \"Backward pass\"`: what the node's doc_string must be."},
    {"since", "`extern com.acme::Route since 2 (…)`: the declaration holds from that version of the domain on."},
    {"in", "`where T in fp32, fp16`: types that the variable stands for."},
    {"each", "`more...: each E`: operands of a variadic one may have different types."},
    {"nodes", "`nodes [1,3)`: a range of positions from 0, the last one not in it."},
    {"where", "Only where a condition holds: `deny Gather where data is weight and rank(data) == 2`."},
    {"arg", "Operands, by name or by position from 1: `LayerNormalization arg Scale, B keep fp32`."},
    {"result", "Results, by name or by position from 1: `BatchNormalization result * except Y keep fp32`."},
    {"except", "`arg * except X`: all operands but these."},
    {"keep", "`keep fp32`: stays fp32 where it is read or made."},
    {"store", "`store fp32`: fp32 in the file, cast where it is used."},
    {"exact",
     "`exact`: whatever computes this operand stays fp32. `exact from integers`: as far back as it is computed "
     "from integers alone."},
    {"from", "`exact from integers`: as far back as the operand is computed from integers alone."},
    {"integers", "`exact from integers`: as far back as the operand is computed from integers alone."},
    {"saturate", "A bound that only limits: a value beyond the low type's range becomes its largest."},
    {"factor", "The result is as small as this operand: what a factor of 1e-9 makes is held in fp32 too."},
    {"on", "Turns a setting on; `on conflict` is a setting itself."},
    {"low", "The type that `dtype` chooses, fp16 or bf16."},
    {"scale", "`tensor \"scaler\" scale`: a loss scale; what is computed from it alone, and what reads that, is fp32."},
};

constexpr Word kConditions[] = {
    {"rank", "`rank(X)`: number of dimensions of an operand."},
    {"dim", "`dim(X, 1)`: a dimension of an operand, counted from 0."},
    {"size", "`size(X)`: number of elements of an operand, or of a weight."},
    {"type", "`type(X) == fp16`: element type of an operand."},
    {"opset", "`opset >= 17`: the version of the operator's domain that the model imports."},
    {"is", "`X is weight`, `X is constant`, `X is given`."},
    {"not", "The condition behind it does not hold: `not group > 1`, `is not weight`."},
    {"and", "Both conditions hold; binds more than `or`."},
    {"or", "At least one of the conditions holds."},
    {"constant", "`X is constant`: known when the model is compiled."},
    {"given", "`X is given`: the optional operand is there."},
};

constexpr Word kMeasures[] = {
    {"absmax", "The weight's largest magnitude."},
    {"underflow",
     "The part of the weight's values that the low type loses to zero, such as 1%. As a setting: what "
     "becomes of such a weight."},
    {"overflow",
     "The part of the weight's values beyond the low type's range, such as 1%. As a setting: what becomes of "
     "such a weight."},
    {"size", "Number of elements of a weight."},
};

constexpr Word kParts[] = {
    {"parameter", "A parameter: the master weight in fp32, of which forward reads a low copy."},
    {"gradient", "A gradient: fp32 from the all-reduce on."},
    {"state", "A state of the optimizer: fp32."},
};

constexpr Word kTypes[] = {{"fp16", "IEEE half precision: 11 bits of precision, up to 65504."},
                           {"bf16", "bfloat16: 8 bits of precision, the range of fp32."}};
constexpr Word kToggle[] = {{"on", "Done."}, {"off", "Not done."}};
constexpr Word kFollow[] = {{"any", "Low where any operand is made low."},
                            {"last", "As the last operand that is decided."}};
constexpr Word kGray[] = {{"local", "Each node by its own operands."},
                          {"cut", "All at once, so that the fewest bytes go through casts."}};
constexpr Word kIo[] = {{"keep", "Inputs and outputs of the model keep their types."},
                        {"low", "Inputs and outputs of the model become low."}};
constexpr Word kOverflow[] = {{"keep", "The weight stays fp32, with the nodes that read it."},
                              {"clamp", "Values become the low type's largest."},
                              {"inf", "Values become infinite."},
                              {"error", "Compilation ends with an error."}};
constexpr Word kUnderflow[] = {{"keep", "The weight stays fp32, with the nodes that read it."},
                               {"flush", "Values become zero."}};
constexpr Word kShared[] = {
    {"fp32", "Stored once, in fp32."}, {"low", "Stored once, in the low type."}, {"both", "Stored in both types."}};
constexpr Word kFunctions[] = {{"keep", "Functions stay, a copy for each kind of call."},
                               {"inline", "Functions are written out where they are called."}};
constexpr Word kMaster[] = {{"keep", "Master weights are as they were."},
                            {"rounded", "Training starts at what the low type holds."}};
constexpr Word kConflict[] = {{"node", "The node stays fp32 as a whole."},
                              {"store", "The operand is fp32 in the file, and cast where it is used."},
                              {"error", "It is an error."}};
constexpr Word kDefault[] = {{"fp32", "Stays fp32."}, {"low", "Becomes low."}};
constexpr Word kWeights[] = {{"keep", "fp32 in the file, cast when the model runs."},
                             {"use", "Low in the file where every reader wants low."},
                             {"low", "Low in the file, cast up for a reader in fp32."}};
constexpr Word kNone[] = {{}};

const Setting kSettings[] = {
    {"dtype", "The low data type, `fp16` or `bf16`; `--dtype` overrides it.", kTypes},
    {"level", "`level O1` chooses a level, `level O1 { … }` says what it is. `--level` overrides the choice.",
     std::span(kNone).first(0)},
    {"promote", "With `on`, one operand in fp32 keeps a `follow` node in fp32.", kToggle},
    {"follow", "Of which operands a `follow` node takes its type.", kFollow},
    {"gray", "How nodes that follow are decided.", kGray},
    {"rewrite creators", "Operators that make tensors of a chosen type make the low one themselves.", kToggle},
    {"rewrite moved", "Casts change places with what only moves elements, where that makes them fewer or smaller.",
     kToggle},
    {"rewrite redundant", "Casts of the model's own that change nothing are read past.", kToggle},
    {"io", "The types of the model's inputs and outputs; with names behind it, of those alone.", kIo},
    {"overflow", "What becomes of a weight with values beyond the low type's range.", kOverflow},
    {"underflow", "What becomes of a weight with values that the low type loses to zero.", kUnderflow},
    {"shared", "How a weight is stored that is read in both types.", kShared},
    {"functions", "What becomes of model-local functions.", kFunctions},
    {"master", "What becomes of the master weights of a training graph.", kMaster},
    {"on conflict", "What becomes of `keep fp32` where the schema ties the operand's type to that of others.",
     kConflict},
    {"default", "In a level: what becomes of an operator that no list decides.", kDefault},
    {"weights", "In a level: how weights are stored.", kWeights},
};

constexpr Word kLevelWords[] = {
    {"default", "`default fp32`: what becomes of an operator that no list decides."},
    {"weights", "`weights use`: how weights are stored."},
    {"off",
     "Nothing changes at this level. Elsewhere it turns a setting off, or takes an imported pattern away: "
     "`override pattern NAME off`."},
};

}  // namespace

std::span<const Word> statement_words() { return kStatements; }
std::span<const Word> level_words() { return kLevelWords; }
std::span<const Word> other_words() { return kOthers; }
std::span<const Word> condition_words() { return kConditions; }
std::span<const Word> weight_measures() { return kMeasures; }
std::span<const Word> optimizer_parts() { return kParts; }
std::span<const Setting> settings() { return kSettings; }

const Setting* find_setting(std::string_view key) {
  const auto at =
      std::find_if(std::begin(kSettings), std::end(kSettings), [&](const Setting& s) { return s.key == key; });
  return at == std::end(kSettings) ? nullptr : at;
}

std::string_view meaning_of(std::string_view word) {
  if (word == "rewrite") return "Whether casts that are not needed are removed: `creators`, `moved` or `redundant`.";
  for (const std::span<const Word> list : {statement_words(), level_words(), other_words(), condition_words(),
                                           weight_measures(), optimizer_parts(), std::span<const Word>(kTypes)}) {
    for (const Word& w : list) {
      if (w.word == word) return w.meaning;
    }
  }
  const Setting* setting = find_setting(word);
  return setting == nullptr ? std::string_view() : setting->meaning;
}

}  // namespace ampc::lsp
