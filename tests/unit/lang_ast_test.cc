// Text to syntax tree: tables of text and what `--emit ast` prints of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ampc/lang/ast.h"

namespace ampc::lang {
namespace {

struct Parsed {
  SourceMap sources;
  Diagnostics diagnostics;
  ast::File file;
  explicit Parsed(std::string text) {
    const FileId id = sources.add("test.amp", std::move(text));
    file = ast::parse(id, sources, diagnostics);
  }
  std::string errors() const {
    std::ostringstream out;
    render(out, diagnostics, sources);
    return out.str();
  }
};

struct Case {
  const char* text;
  const char* ast;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.text; }

class Ast : public testing::TestWithParam<Case> {};

TEST_P(Ast, PrintsAsExpected) {
  const Parsed parsed(std::string("amp 1\n") + GetParam().text);
  EXPECT_EQ(parsed.errors(), "");
  EXPECT_EQ(ast::print(parsed.file), std::string("amp 1\n") + GetParam().ast);
}

TEST_P(Ast, PrintedTextIsAFixedPoint) {
  const Parsed once(std::string("amp 1\n") + GetParam().text);
  const std::string text = ast::print(once.file);
  const Parsed twice(text);
  EXPECT_EQ(twice.errors(), "");
  EXPECT_EQ(ast::print(twice.file), text);
}

const Case kStatements[] = {
    {"", ""},
    {"import \"onnx/operators.amp\"", "import \"onnx/operators.amp\"\n"},
    {"import \"a \\\"b\\\" \\\\ c.amp\"", "import \"a \\\"b\\\" \\\\ c.amp\"\n"},
    {"import \"a.amp\" for com.acme,extern\ndeny Exp", "import \"a.amp\" for com.acme, extern\ndeny Exp\n"},
    // Settings; `follow any` reads as a list here.
    {"dtype   fp16\nlevel O1 promote on", "dtype fp16\nlevel O1\npromote on\n"},
    {"follow any\nfollow last", "follow any\nfollow last\n"},
    {"gray cut gray local", "gray cut\ngray local\n"},
    {"overflow clamp underflow flush shared both functions inline",
     "overflow clamp\nunderflow flush\nshared both\nfunctions inline\n"},
    {"on   conflict store\non conflict node", "on conflict store\non conflict node\n"},
    {"io keep\nio low \"logits\", /probs.*/", "io keep\nio low \"logits\", /probs.*/\n"},
    {"level O2 { default low weights low off deny Exp }",
     "level O2 {\n  default low\n  weights low\n  off\n  deny Exp\n}\n"},
    {"level Q {}", "level Q {}\n"},
    // Lists
    {"allow MatMul, Gemm\n  , Conv", "allow MatMul, Gemm, Conv\n"},
    {"deny O1, OD fp16: Exp follow bf16: Add leave Loop", "deny O1, OD, fp16: Exp\nfollow bf16: Add\nleave Loop\n"},
    {"deny O1 fp16, O2 bf16: Exp", "deny O1, O2, fp16, bf16: Exp\n"},
    {"unsupported bf16: Shrink, com.acme::Warp", "unsupported bf16: Shrink, com.acme::Warp\n"},
    {"allow ai.onnx::MatMul, ai.onnx.ml::Scaler", "allow ai.onnx::MatMul, ai.onnx.ml::Scaler\n"},
    {"override deny Softmax, Gelu override Sin arg 1 exact", "override deny Softmax, Gelu\noverride Sin arg 1 exact\n"},
    {"bounded Softmax, Sigmoid", "bounded Softmax, Sigmoid\n"},
    {"commutes Add, com.acme::Mix", "commutes Add, com.acme::Mix\n"},
    // Patterns
    {"pattern rms_norm(x, eps) { s = Pow(x, 2) | Mul(x,x) m = ReduceMean(s) y = Div(x, Sqrt(Add(m, eps))) } keep fp32",
     "pattern rms_norm(x, eps) {\n  s = Pow(x, 2) | Mul(x, x)\n  m = ReduceMean(s)\n  y = Div(x, Sqrt(Add(m, eps)))\n} "
     "keep fp32\n"},
    {"pattern O1, OD fp16: g(x) { a, _ = Split(x, *) c = Reshape(Cast(a)?, _)? y = com.acme::Gate(c, -0.5) } follow\n"
     "deny Exp",
     "pattern O1, OD, fp16: g(x) {\n  a, _ = Split(x, *)\n  c = Reshape(Cast(a)?, _)?\n  y = com.acme::Gate(c, "
     "-0.5)\n} "
     "follow\ndeny Exp\n"},
    {"pattern p() { m = ReduceMean(_) where keepdims == 1 and axis > 0 | Exp(_) where opset > 12\n y = Log(m) } low",
     "pattern p() {\n  m = ReduceMean(_) where keepdims == 1 and axis > 0 | Exp(_) where opset > 12\n  y = Log(m)\n} "
     "low\n"},
    {"override pattern pattern off override pattern scope(on, level) { weight = Add(on, level) } low",
     "override pattern pattern off\noverride pattern scope(on, level) {\n  weight = Add(on, level)\n} low\n"},
    {"scope \"a\" { pattern p(x) { y = Exp(x) } low }",
     "scope \"a\" {\n  pattern p(x) {\n    y = Exp(x)\n  } low\n}\n"},
    {"Foo arg pattern keep fp32 alias f(pattern) = Gemm(A: pattern)",
     "Foo arg pattern keep fp32\nalias f(pattern) = Gemm(A: pattern)\n"},
    {"moves Reshape, Split", "moves Reshape, Split\n"},
    {"rewrite moved off rewrite creators on", "rewrite moved off\nrewrite creators on\n"},
    {"allow torch.nn.functional.layer_norm", "allow torch.nn.functional.layer_norm\n"},
    // Training graphs
    {"collective com.microsoft::AllReduce,Sum", "collective com.microsoft::AllReduce, Sum\n"},
    {"optimizer ai.onnx.preview.training::Adam(inputs : parameter gradient state state)",
     "optimizer ai.onnx.preview.training::Adam(inputs: parameter gradient state state)\n"},
    {"optimizer com.acme::Sgd(1: parameter, 2: gradient) optimizer Sub(A: state,B: gradient)",
     "optimizer com.acme::Sgd(1: parameter, 2: gradient)\noptimizer Sub(A: state, B: gradient)\n"},
    {"backward /(.+)_Grad\\/.+/ backward /(.+)'/ doc \"Backward pass\"",
     "backward /(.+)_Grad\\/.+/\nbackward /(.+)'/ doc \"Backward pass\"\n"},
    {"tensor \"loss_scale\", \"*.loss_scale\" scale tensor \"x\" keep fp32",
     "tensor \"loss_scale\", \"*.loss_scale\" scale\ntensor \"x\" keep fp32\n"},
    {"master rounded master keep", "master rounded\nmaster keep\n"},
    {"Foo arg master, optimizer, collective, backward, doc keep fp32",
     "Foo arg master, optimizer, collective, backward, doc keep fp32\n"},
    {"optimizer Foo(master: state, optimizer: gradient, doc: parameter)",
     "optimizer Foo(master: state, optimizer: gradient, doc: parameter)\n"},
    // Roles
    {"layer_norm arg 3,4 keep fp32", "layer_norm arg 3, 4 keep fp32\n"},
    {"LayerNormalization arg Scale, B store fp32", "LayerNormalization arg Scale, B store fp32\n"},
    {"BatchNormalization arg * except X keep fp32", "BatchNormalization arg * except X keep fp32\n"},
    {"BatchNormalization result * except Y, 2 keep fp32", "BatchNormalization result * except Y, 2 keep fp32\n"},
    {"Resize arg scales exact\nSin, Cos arg * exact from integers\nClip arg 2, max saturate",
     "Resize arg scales exact\nSin, Cos arg * exact from integers\nClip arg 2, max saturate\n"},
    {"Mul arg * factor", "Mul arg * factor\n"},
    {"Sin O1, bf16: arg 1 exact", "Sin O1, bf16: arg 1 exact\n"},
    {"com.microsoft::Gelu fp16: result 1 keep fp32", "com.microsoft::Gelu fp16: result 1 keep fp32\n"},
    // Aliases
    {"alias matmul_v2 = MatMul", "alias matmul_v2 = MatMul\n"},
    {"alias pool2d = MaxPool , AveragePool", "alias pool2d = MaxPool, AveragePool\n"},
    {"alias layer_norm(input, normalized_shape, weight, bias, eps) = LayerNormalization(X: input, Scale: weight, B: "
     "bias)",
     "alias layer_norm(input, normalized_shape, weight, bias, eps) = LayerNormalization(X: input, Scale: weight, B: "
     "bias)\n"},
    {"alias where(condition, x, y) = Where(condition: condition, X: x, Y: y)",
     "alias where(condition, x, y) = Where(condition: condition, X: x, Y: y)\n"},
    {"alias now() = Shape()", "alias now() = Shape\n"},
    // Declarations
    {"extern com.acme::FusedMoe(x: T, w: T, scale: float) -> (y: T) where T in fp32, fp16",
     "extern com.acme::FusedMoe(x: T, w: T, scale: float) -> (y: T) where T in fp32, fp16\n"},
    {"extern com.acme::Mix since 2<k : int=2, mode?:string, s: string = \"a \\\"b\\\"\", e: float = -1e-5>\n"
     "  (x: T, w ?: I, more...: each T)->(y: T, z?: int64)\n  where T in fp32, bf16 and I in int32, int64",
     "extern com.acme::Mix since 2 <k: int = 2, mode?: string, s: string = \"a \\\"b\\\"\", e: float = -1e-5>"
     "(x: T, w?: I, more...: each T) -> (y: T, z?: int64) where T in fp32, bf16 and I in int32, int64\n"},
    {"override extern com.acme::A(x: T) -> (y: T) where T in fp32 override deny com.acme::A",
     "override extern com.acme::A(x: T) -> (y: T) where T in fp32\noverride deny com.acme::A\n"},
    {"extern ai.onnx::Own since 3 () -> () extern com.acme::Source<n: int>() -> (y: any)",
     "extern ai.onnx::Own since 3 () -> ()\nextern com.acme::Source<n: int>() -> (y: any)\n"},
    {"extern com.acme::Words(weight: T, extern?: T, in: T, each: T, since...: T) -> (where: T) where T in fp32",
     "extern com.acme::Words(weight: T, extern?: T, in: T, each: T, since...: T) -> (where: T) where T in fp32\n"},
    // Names
    {"tensor \"*learning_rate*\" keep fp32 tensor /encoder\\.layer\\.[0-3]\\..*/ store fp32",
     "tensor \"*learning_rate*\" keep fp32\ntensor /encoder\\.layer\\.[0-3]\\..*/ store fp32\n"},
    {"node \"/head/*\", \"x\" keep fp32 node /a\\/b/ low", "node \"/head/*\", \"x\" keep fp32\nnode /a\\/b/ low\n"},
    {"guard \"*__use_fp16__*\", /x/", "guard \"*__use_fp16__*\", /x/\n"},
    {"weight \"embed*\" keep fp32", "weight \"embed*\" keep fp32\n"},
    {"weight where absmax > 65504 keep fp32\nweight where underflow >= 1.5% keep fp32",
     "weight where absmax > 65504 keep fp32\nweight where underflow >= 1.5% keep fp32\n"},
    {"weight where (absmax>100 and not size<64) or overflow > 0% keep fp32",
     "weight where (absmax > 100 and (not size < 64)) or overflow > 0% keep fp32\n"},
    // Places
    {"scope \"/decoder/layer.{0..3}/**\", /x/ { level O2 deny Gelu scope \"b\" { promote off } }",
     "scope \"/decoder/layer.{0..3}/**\", /x/ {\n  level O2\n  deny Gelu\n  scope \"b\" {\n    promote off\n  }\n}\n"},
    {"block \"main/If_3.then_branch\" nodes [1,3) { level O0 }",
     "block \"main/If_3.then_branch\" nodes [1,3) {\n  level O0\n}\n"},
    {"block \"main\" { deny Exp }", "block \"main\" {\n  deny Exp\n}\n"},
    // Words that are keywords elsewhere
    {"Gather arg weight, on, scope, keepdims, where, level keep fp32",
     "Gather arg weight, on, scope, keepdims, where, level keep fp32\n"},
    {"alias f(keep, store, exact, level, tensor) = Gemm(A: keep)",
     "alias f(keep, store, exact, level, tensor) = Gemm(A: keep)\n"},
    {"deny Foo where weight is weight and size == 3 and rank(scope) > 1",
     "deny Foo where weight is weight and size == 3 and rank(scope) > 1\n"},
    {"Gather arg extern, in, since, each keep fp32\nextern a.b::C(x: T) -> (y: T) where T in fp16\ndeny Exp",
     "Gather arg extern, in, since, each keep fp32\nextern a.b::C(x: T) -> (y: T) where T in fp16\ndeny Exp\n"},
    {"deny Foo where A == extern\nextern a.b::C(x: fp32) -> (y: fp32)",
     "deny Foo where A == extern\nextern a.b::C(x: fp32) -> (y: fp32)\n"},
    {"deny exact, from, conflict where on == 1", "deny exact, from, conflict where on == 1\n"},
    {"# a comment\ndeny Exp # another\n#", "deny Exp\n"},
};
INSTANTIATE_TEST_SUITE_P(Statements, Ast, testing::ValuesIn(kStatements));

const Case kPredicates[] = {
    {"deny Gather where data is weight and rank(data) == 2 and axis == 0",
     "deny Gather where data is weight and rank(data) == 2 and axis == 0\n"},
    {"deny Mul where A == B", "deny Mul where A == B\n"},
    {"deny Conv where not group > 1", "deny Conv where not group > 1\n"},
    {"deny Conv where not not group > 1", "deny Conv where group > 1\n"},
    {"deny Conv where a == 1 or b == 2 and c == 3", "deny Conv where a == 1 or (b == 2 and c == 3)\n"},
    {"deny Conv where (a == 1 or b == 2) and c == 3", "deny Conv where (a == 1 or b == 2) and c == 3\n"},
    {"deny Conv where not (a == 1 or b == 2)", "deny Conv where not (a == 1 or b == 2)\n"},
    {"deny Conv where ((((a == 1))))", "deny Conv where a == 1\n"},
    {"deny Conv where B is not given", "deny Conv where not B is given\n"},
    {"deny Conv where 3 is given", "deny Conv where 3 is given\n"},
    {"deny Conv where dim(W, -1) >= 2 and dim(W, 0) <= 1e3", "deny Conv where dim(W, -1) >= 2 and dim(W, 0) <= 1e3\n"},
    {"deny Conv where size(2) < 10 and type(X) != fp32", "deny Conv where size(2) < 10 and type(X) != fp32\n"},
    {"deny Conv where type(X) == fp16 or bf16 != type(X)", "deny Conv where type(X) == fp16 or bf16 != type(X)\n"},
    {"deny Conv where auto_pad == \"SAME_UPPER\" or opset >= 22",
     "deny Conv where auto_pad == \"SAME_UPPER\" or opset >= 22\n"},
    {"deny Elu where alpha == -0.5 or alpha > 10%", "deny Elu where alpha == -0.5 or alpha > 10%\n"},
    {"deny O1 fp16: Conv, Gemm where a == 1\nallow Exp", "deny O1, fp16: Conv, Gemm where a == 1\nallow Exp\n"},
    // A role right behind a predicate is a statement of its own.
    {"deny Mul where A == B\nlayer_norm arg 3 keep fp32", "deny Mul where A == B\nlayer_norm arg 3 keep fp32\n"},
};
INSTANTIATE_TEST_SUITE_P(Predicates, Ast, testing::ValuesIn(kPredicates));

TEST(AstSpans, NameTheirBytes) {
  const std::string text =
      "amp 1\ntensor \"gr\xc3\xb6\xc3\x9f\x65\" keep fp32\n  deny Exp, com.acme::Warp where a == 1\n";
  const Parsed parsed(text);
  ASSERT_EQ(parsed.errors(), "");
  ASSERT_EQ(parsed.file.statements.size(), 3U);
  const auto slice = [&](const Span& s) { return text.substr(s.begin, s.end - s.begin); };
  const auto& tensor = std::get<ast::NameRule>(parsed.file.statements[1].node);
  EXPECT_EQ(slice(tensor.patterns[0].span), "\"gr\xc3\xb6\xc3\x9f\x65\"");
  EXPECT_EQ(slice(tensor.type.span), "fp32");
  const auto& list = std::get<ast::List>(parsed.file.statements[2].node);
  EXPECT_EQ(slice(list.ops[1].span), "com.acme::Warp");
  EXPECT_EQ(slice(list.where->span), "a == 1");
  EXPECT_EQ(slice(parsed.file.statements[2].span), "deny Exp, com.acme::Warp where a == 1");
  EXPECT_EQ(slice(parsed.file.statements[2].keyword), "deny");
  EXPECT_EQ(parsed.sources.where(list.ops[0].span), "test.amp:3:8");
}

TEST(AstRecovery, ABadStatementDoesNotSwallowTheNext) {
  const Parsed parsed(
      "amp 1\ndeny ,\nallow MatMul\nfoo bar baz\nfollow Add\nscope \"a\" { deny ( allow Gemm tensor bias keep fp32\n"
      "leave Loop }\nguard \"g\"\n");
  EXPECT_EQ(parsed.diagnostics.errors(), 4U) << parsed.errors();
  EXPECT_EQ(ast::print(parsed.file),
            "amp 1\nallow MatMul\nfollow Add\nscope \"a\" {\n  allow Gemm\n  leave Loop\n}\nguard \"g\"\n");
}

TEST(AstRecovery, ANameAtTheHeadOfALineIsGivenBack) {
  const Parsed parsed("amp 1\nLayerNormalization arg\nSin arg 1 exact\nCos arg 1 keep\nTan arg 1 exact\n");
  EXPECT_EQ(parsed.diagnostics.errors(), 2U) << parsed.errors();
  EXPECT_EQ(ast::print(parsed.file), "amp 1\nSin arg 1 exact\nTan arg 1 exact\n");
}

// However long, a file costs what its length is worth: work is counted in tokens that the recovery reads again.
TEST(AstRecovery, ManyMistakesAreManyErrors) {
  std::string text = "amp 1\n";
  for (int i = 0; i < 2000; ++i) text += "A\nB, C,\nD\ndeny ,\n";
  const Parsed parsed(text);
  EXPECT_GE(parsed.diagnostics.errors(), 4000U);
}

TEST(AstFiles, RulesThatShipAreAFixedPoint) {
  namespace fs = std::filesystem;
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(AMPC_SOURCE_DIR) / "rules")) {
    if (entry.path().extension() != ".amp") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const Parsed once(text.str());
    ASSERT_EQ(once.errors(), "") << entry.path();
    const std::string printed = ast::print(once.file);
    const Parsed twice(printed);
    EXPECT_EQ(ast::print(twice.file), printed) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace ampc::lang
