// Rule files to RuleSet: names, imports, overrides, and that order has no meaning.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "ampc/lang/rule_set.h"

namespace ampc::lang {
namespace {

namespace fs = std::filesystem;

class Compile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::temp_directory_path() / ("ampc_compile_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << "amp 1\n" << text;
  }

  std::optional<RuleSet> compile_file(const std::string& name, const CompileOptions& options = {}) {
    sources_ = SourceMap();
    diagnostics_.emplace();
    return compile((folder_ / name).string(), options, sources_, *diagnostics_);
  }

  std::string said() const {
    std::ostringstream out;
    render(out, *diagnostics_, sources_);
    return out.str();
  }

  // The rules of one text, as `--emit rules` prints them.
  std::string rules(const std::string& text) {
    write("main.amp", text);
    return rules_of("main.amp");
  }

  std::string rules_of(const std::string& name, const CompileOptions& options = {}) {
    const auto set = compile_file(name, options);
    EXPECT_EQ(said(), "");
    return set ? dump_rules(*set) : "none";
  }

  fs::path folder_;
  SourceMap sources_;
  std::optional<Diagnostics> diagnostics_;
};

TEST_F(Compile, ListsGiveEachOperatorItsVerdict) {
  EXPECT_EQ(rules("allow MatMul, ai.onnx::Gemm\ndeny Exp follow Add leave Loop unsupported bf16: Shrink\n"
                  "deny com.acme::Warp, ai.onnx.ml::Scaler"),
            "allow Gemm\nallow MatMul\ndeny Exp\ndeny ai.onnx.ml::Scaler\ndeny com.acme::Warp\nfollow Add\nleave Loop\n"
            "unsupported bf16: Shrink\n");
}

TEST_F(Compile, LevelsAreData) {
  const std::string text =
      "level O2 { default low weights low deny Resize Sin arg 1 exact }\nlevel O0 { off }\nlevel O1 { }\n"
      "level O1\ndeny O1, O2 fp16: Exp";
  EXPECT_EQ(rules(text),
            "level O0 { default fp32  weights use  off }\nlevel O1 { default fp32  weights use }\n"
            "level O2 { default low  weights low }\nlevel O1\ndeny O1, O2, fp16: Exp\ndeny O2: Resize\nSin O2: arg 1 "
            "exact\n");
  const auto set = compile_file("main.amp");
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->level("O2"), 2U);
  EXPECT_EQ(set->level("O9"), std::nullopt);
  EXPECT_EQ(set->scopes[0].settings.level, 1U);
  const auto exp = std::find_if(set->ops.begin(), set->ops.end(), [](const OpRule& r) { return r.op.name == "Exp"; });
  ASSERT_NE(exp, set->ops.end());
  EXPECT_TRUE(exp->when.holds(1, ElemType::float16));
  EXPECT_FALSE(exp->when.holds(1, ElemType::bfloat16));
  EXPECT_FALSE(exp->when.holds(0, ElemType::float16));
}

TEST_F(Compile, TheUsersOwnLineWorksThroughAnAlias) {  // counted from 1: weight and bias
  const std::string alias =
      "alias layer_norm(input, normalized_shape, weight, bias, eps) = LayerNormalization(X: input, Scale: weight, B: "
      "bias)\n";
  const std::string expected = "LayerNormalization arg B, Scale keep fp32\n";
  EXPECT_EQ(rules(alias + "layer_norm arg 3,4 keep fp32"), expected);
  EXPECT_EQ(rules(alias + "layer_norm arg weight, bias keep fp32"), expected);
  EXPECT_EQ(rules(alias + "layer_norm arg Scale, B keep fp32"), expected);
  EXPECT_EQ(rules("LayerNormalization arg Scale, B keep fp32"), expected);
  EXPECT_EQ(rules("LayerNormalization arg 2, 3 keep fp32"), "LayerNormalization arg 2, 3 keep fp32\n");
}

TEST_F(Compile, AnAliasMayStandForSeveralOperators) {
  EXPECT_EQ(rules("alias pool2d = MaxPool, AveragePool\nfollow pool2d\npool2d arg X keep fp32"),
            "follow AveragePool\nfollow MaxPool\nAveragePool arg X keep fp32\nMaxPool arg X keep fp32\n");
  // A parameter that stands for an operand of one of them is no fault of the other.
  EXPECT_EQ(rules("alias mul(x, y, bias) = MatMul(A: x, B: y), Gemm(A: x, B: y, C: bias)\nmul arg 3 keep fp32"),
            "Gemm arg C keep fp32\n");
}

TEST_F(Compile, DeclaredOperatorsGoByName) {
  const std::string declaration =
      "extern com.acme::Warp since 2 <group: int = 1>(x: T, more...: T) -> (y: T) where T in float, fp16\n";
  EXPECT_EQ(rules(declaration + "com.acme::Warp arg x keep fp32\ncom.acme::Warp result y keep fp32\n"
                                "deny com.acme::Warp where group > 1 and rank(x) == 4\n"
                                "alias warp(a, b) = com.acme::Warp(x: a)\nwarp arg a factor"),
            "extern com.acme::Warp since 2 <group: int = 1>(x: T, more...: T) -> (y: T) where T in fp32, fp16\n"
            "deny com.acme::Warp where (group > 1) and (rank(x) == 4)\n"
            "com.acme::Warp arg x factor\ncom.acme::Warp arg x keep fp32\ncom.acme::Warp result y keep fp32\n");
  const auto set = compile_file("main.amp");
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->operators->find("com.acme", "Warp", 1), nullptr);
  const Signature* warp = set->operators->find("com.acme", "Warp", 3);
  ASSERT_NE(warp, nullptr);
  EXPECT_TRUE(warp->is_declared());
  EXPECT_EQ(warp->input(5)->name, "more");
  EXPECT_EQ(warp->attribute("group")->number, 1);
  EXPECT_EQ(set->operators->find("", "Relu", 17), Schemas::get().find("", "Relu", 17));
}

// What a file prints of declarations is a declaration of the same.
TEST_F(Compile, PrintedDeclarationsAreAFixedPoint) {
  const std::string once = rules(
      "extern com.acme::A<e?: other, f: float = 1e-05, i: int, l?: floats, s: string = \"a \\\"b\\\" \\\\\">"
      "(x: T, in?: V, s: sequence, b: bool, r...: each U) -> (y: T, z?: any, q: V)\n"
      "where T in fp32, sparse and U in any and V in float8e5m2, double");
  EXPECT_EQ(rules(once), once);
}

TEST_F(Compile, ADeclarationOfAnImportedFileIsOverridden) {
  write("acme.amp",
        "extern com.acme::Warp(x: T) -> (y: T) where T in fp32\nextern com.acme::Fold(x: fp32) -> (y: fp32)");
  EXPECT_EQ(
      rules("import \"acme.amp\"\n"
            "override extern com.acme::Warp(x: T, w?: T) -> (y: T) where T in fp32, fp16\ncom.acme::Warp arg w exact"),
      "extern com.acme::Fold(x: fp32) -> (y: fp32)\n"
      "extern com.acme::Warp(x: T, w?: T) -> (y: T) where T in fp32, fp16\ncom.acme::Warp arg w exact\n");
}

TEST_F(Compile, AFileForADomainIsReadWhereSomethingNamesIt) {
  write("acme.amp", "extern com.acme::Warp(x: T) -> (y: T) where T in fp32, fp16\ndeny com.acme::Warp");
  write("shapes.amp", "deny Shape");
  const std::string imports = "import \"shapes.amp\"\nimport \"acme.amp\" for com.acme, com.acme.old\n";
  write("silent.amp", imports);
  write("naming.amp", imports + "override allow com.acme::Warp");
  write("above.amp", "import \"silent.amp\"\nscope \"a\" { allow com.acme::Warp }");
  CompileOptions options;
  int asked = 0;
  std::set<std::string> domains;
  options.model_domains = [&] {
    ++asked;
    return domains;
  };
  EXPECT_EQ(rules_of("silent.amp", options), "deny Shape\n");
  EXPECT_EQ(asked, 1);
  domains = {"", "com.acme.old"};
  const std::string read =
      "extern com.acme::Warp(x: T) -> (y: T) where T in fp32, fp16\ndeny Shape\ndeny com.acme::Warp\n";
  EXPECT_EQ(rules_of("silent.amp", options), read);
  EXPECT_EQ(rules_of("silent.amp"), read);
  EXPECT_EQ(asked, 2);
  // Rules that name the domain mean the same whatever the model, which is not asked.
  domains.clear();
  EXPECT_EQ(rules_of("naming.amp", options),
            "extern com.acme::Warp(x: T) -> (y: T) where T in fp32, fp16\nallow com.acme::Warp\ndeny Shape\n");
  EXPECT_EQ(compile_file("above.amp", options)->files.size(), 4U);
  EXPECT_EQ(asked, 2);
}

TEST_F(Compile, OperandsOfUnknownDomainsGoByPosition) {
  EXPECT_EQ(
      rules("com.acme::Warp arg 1, 3 keep fp32\ndeny com.acme::Warp where group > 1 and rank(2) == 4 and 2 is weight"),
      "deny com.acme::Warp where (group > 1) and (rank(2) == 4) and (2 is weight)\ncom.acme::Warp arg 1, 3 keep "
      "fp32\n");
}

TEST_F(Compile, RolesOfEveryKind) {
  EXPECT_EQ(rules("BatchNormalization arg * except X keep fp32\nBatchNormalization result * except Y keep fp32\n"
                  "Resize arg scales exact\nSin, Cos arg * exact from integers\nClip arg min, max saturate\n"
                  "LayerNormalization fp16: arg B store fp32"),
            "BatchNormalization arg * except X keep fp32\nBatchNormalization result * except Y keep fp32\n"
            "Clip arg max, min saturate\nCos arg * exact from integers\nLayerNormalization fp16: arg B store fp32\n"
            "Resize arg scales exact\nSin arg * exact from integers\n");
}

TEST_F(Compile, PredicatesTellOperandsFromAttributes) {
  EXPECT_EQ(rules("deny Gather where data is weight and rank(data) == 2 and axis == 0\ndeny Mul where A == B\n"
                  "deny Conv where not (group > 1 or auto_pad == \"SAME_UPPER\") and opset < 22\n"
                  "deny Elu where alpha >= 50%\ndeny Cast where type(input) == int64"),
            "deny Cast where type(input) == \"int64\"\n"
            "deny Conv where (not ((group > 1) or (auto_pad == \"SAME_UPPER\"))) and (opset < 22)\n"
            "deny Elu where alpha >= 0.5\n"
            "deny Gather where (data is weight) and (rank(data) == 2) and (axis == 0)\n"
            "deny Mul where operand A == operand B\n");
}

TEST_F(Compile, NamesScopesAndBlocks) {
  EXPECT_EQ(
      rules("tensor \"*lr*\" keep fp32 tensor /b.*/ store fp32 node \"/head/*\" low guard \"g\"\n"
            "weight \"e*\" keep fp32 weight where underflow > 1% keep fp32 io low \"logits\"\n"
            "level O2 { default low }\n"
            "scope \"/d/**\" { level O2 promote on follow last gray cut dtype bf16 deny Gelu tensor \"x\" keep fp32\n"
            "  scope \"e\" { allow Exp } }\n"
            "block \"main/If_3.then_branch\" nodes [1,3) { deny Gelu }\nblock \"main\" { node \"n\" keep fp32 }"),
      "level O2 { default low  weights use }\n"
      "scope \"/d/**\": dtype bf16\nscope \"/d/**\": follow last\nscope \"/d/**\": gray cut\n"
      "scope \"/d/**\": level O2\nscope \"/d/**\": promote on\n"
      "block \"main/If_3.then_branch\" nodes [1,3): deny Gelu\nscope \"/d/**\": deny Gelu\n"
      "scope \"/d/**\": scope \"e\": allow Exp\n"
      "block \"main\": node \"n\" keep fp32\nguard \"g\"\nio low \"logits\"\nnode \"/head/*\" low\n"
      "scope \"/d/**\": tensor \"x\" keep fp32\ntensor \"*lr*\" keep fp32\ntensor /b.*/ store fp32\nweight "
      "\"e*\" keep fp32\n"
      "weight where underflow > 0.01 keep fp32\n");
  const auto set = compile_file("main.amp");
  ASSERT_TRUE(set.has_value());
  for (ScopeId i = 1; i < set->scopes.size(); ++i) EXPECT_LT(set->scopes[i].parent, i);
  EXPECT_EQ(set->scopes.size(), 5U);
}

TEST_F(Compile, SettingsOfEveryKind) {
  EXPECT_EQ(rules("dtype bf16 promote off follow any gray local io low overflow clamp underflow flush shared both "
                  "functions inline on conflict error rewrite moved off rewrite creators on rewrite redundant off"),
            "dtype bf16\nfollow any\nfunctions inline\ngray local\nio low\non conflict error\noverflow clamp\n"
            "promote off\nrewrite creators on\nrewrite moved off\nrewrite redundant off\nshared "
            "both\nunderflow flush\n");
}

TEST_F(Compile, EqualScopesAreOneWhereverTheyStand) {
  write("lib.amp", "scope \"a\", \"b\" { deny Exp }");
  EXPECT_EQ(rules("import \"lib.amp\"\nscope \"b\", \"a\" { deny Log }"),
            "scope \"a\", \"b\": deny Exp\nscope \"a\", \"b\": deny Log\n");
  const auto set = compile_file("main.amp");
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->scopes.size(), 2U);
}

TEST_F(Compile, OrderHasNoMeaning) {
  write("lib.amp", "deny Softmax, Exp\nalias norm(x, w) = LayerNormalization(X: x, Scale: w)\ndtype bf16");
  std::vector<std::string> statements = {"import \"lib.amp\"",
                                         "level O1 { default fp32 deny Pow }",
                                         "level O2 { default low }",
                                         "level O1",
                                         "dtype fp16",
                                         "allow MatMul, Gemm",
                                         "override allow Softmax",
                                         "deny O2 fp16: Log",
                                         "norm arg 2 keep fp32",
                                         "tensor \"a\" keep fp32",
                                         "scope \"/b/**\" { deny Gelu scope \"c\" { allow Exp } }",
                                         "scope \"/a/**\" { level O2 }",
                                         "deny Conv where group > 1",
                                         "guard \"g\"",
                                         "weight where absmax > 3 keep fp32",
                                         "node \"n\" low",
                                         "bounded Softmax",
                                         "alias pool = MaxPool",
                                         "follow pool"};
  std::mt19937 random(20240501);
  std::string first;
  for (int round = 0; round < 30; ++round) {
    std::shuffle(statements.begin(), statements.end(), random);
    std::string text;
    for (const std::string& s : statements) text += s + "\n";
    const std::string now = rules(text);
    if (round == 0) first = now;
    ASSERT_EQ(now, first) << text;
  }
  EXPECT_NE(first.find("allow Softmax"), std::string::npos);
  EXPECT_NE(first.find("dtype fp16"), std::string::npos);
}

TEST_F(Compile, ImportsAreFoundBesideThenInFoldersThenInstalledAndReadOnce) {
  write("one/deep/beside.amp", "deny Exp\nimport \"../shared.amp\"");
  write("one/shared.amp", "deny Log");
  write("dir/beside.amp", "deny Tan");
  write("dir/second.amp", "deny Pow");
  write("installed/second.amp", "deny Cosh");
  write("installed/third.amp", "deny Sinh");
  write("one/deep/main.amp",
        "import \"beside.amp\"\nimport \"second.amp\"\nimport \"third.amp\"\nimport \"../shared.amp\"\nimport "
        "\"./beside.amp\"");
  const CompileOptions options{{(folder_ / "dir").string()}, (folder_ / "installed").string()};
  EXPECT_EQ(rules_of("one/deep/main.amp", options), "deny Exp\ndeny Log\ndeny Pow\ndeny Sinh\n");
  const auto set = compile_file("one/deep/main.amp", options);
  ASSERT_TRUE(set.has_value());
  std::vector<std::string> files;
  for (const std::string& f : set->files) files.push_back(fs::path(f).lexically_relative(folder_).string());
  EXPECT_EQ(files, (std::vector<std::string>{"one/deep/main.amp", "one/deep/beside.amp", "one/shared.amp",
                                             "dir/second.amp", "installed/third.amp"}));
}

TEST_F(Compile, AFilesOwnSettingBeatsThoseItImports) {
  write("a.amp", "dtype bf16\npromote on");
  write("b.amp", "dtype fp16\nimport \"a.amp\"");
  EXPECT_EQ(rules("import \"a.amp\"\nimport \"b.amp\""), "dtype fp16\npromote on\n");  // b imports a, so b's holds
  EXPECT_EQ(rules("import \"a.amp\"\nimport \"b.amp\"\npromote off\ndtype bf16"), "dtype bf16\npromote off\n");
}

TEST_F(Compile, OverrideReplacesWhatImportsSay) {
  write("lib.amp", "deny Softmax, Exp\nallow fp16: Tan\nunsupported Gelu\nallow Gelu\nscope \"s\" { deny Exp }");
  EXPECT_EQ(rules("import \"lib.amp\"\noverride allow Softmax\noverride deny Gelu\noverride follow fp16: Exp"),
            "allow Softmax\nallow fp16: Tan\ndeny Gelu\ndeny bf16: Exp\nfollow fp16: Exp\nscope \"s\": deny Exp\n"
            "unsupported Gelu\n");
}

TEST_F(Compile, OverrideTakesAwayOnlyWhereItHolds) {
  write("lib.amp", "level O1 { default fp32 } level O2 { default low } level OD { default fp32 }\ndeny Exp");
  const std::string levels =
      "level O1 { default fp32  weights use }\nlevel O2 { default low  weights use }\nlevel OD { default fp32  weights "
      "use }\n";
  write("main.amp", "import \"lib.amp\"\noverride allow O1 fp16: Exp");
  const auto set = compile_file("main.amp");
  ASSERT_TRUE(set.has_value()) << said();
  for (std::size_t level = 0; level < 3; ++level) {
    for (const ElemType low : {ElemType::float16, ElemType::bfloat16}) {
      std::vector<Verdict> verdicts;
      for (const OpRule& r : set->ops) {
        if (r.when.holds(level, low)) verdicts.push_back(r.verdict);
      }
      const bool replaced = level == 0 && low == ElemType::float16;
      EXPECT_EQ(verdicts, std::vector<Verdict>{replaced ? Verdict::allow : Verdict::deny}) << level << short_name(low);
    }
  }
}

TEST_F(Compile, OverrideOfAnOverride) {
  write("a.amp", "deny Exp");
  write("b.amp", "import \"a.amp\"\noverride follow Exp");
  EXPECT_EQ(rules("import \"b.amp\"\noverride allow Exp"), "allow Exp\n");
  EXPECT_EQ(rules("import \"a.amp\"\nimport \"b.amp\""), "follow Exp\n");
}

TEST_F(Compile, OverrideOfARoleTakesTheOperandsItNames) {
  write("lib.amp", "BatchNormalization arg * except X keep fp32");
  EXPECT_EQ(rules("import \"lib.amp\"\noverride BatchNormalization arg scale store fp32"),
            "BatchNormalization arg B, input_mean, input_var keep fp32\nBatchNormalization arg scale store fp32\n");
  EXPECT_EQ(
      rules("import \"lib.amp\"\noverride BatchNormalization bf16: arg scale store fp32"),
      "BatchNormalization bf16: arg B, input_mean, input_var keep fp32\nBatchNormalization bf16: arg scale store fp32\n"
      "BatchNormalization fp16: arg * except X keep fp32\n");
}

TEST_F(Compile, AWhereBesideABareStatementIsNoContradiction) {
  EXPECT_EQ(rules("follow Gather\ndeny Gather where axis == 0\ndeny O1: Conv level O1 {} level O2 {} allow O2: Conv\n"
                  "scope \"s\" { allow Gather }\nunsupported Conv"),
            "level O1 { default fp32  weights use }\nlevel O2 { default fp32  weights use }\n"
            "allow O2: Conv\ndeny Gather where axis == 0\ndeny O1: Conv\nfollow Gather\nscope \"s\": allow "
            "Gather\nunsupported Conv\n");
}

TEST_F(Compile, TwoFrontendsThatAgreeOnAnAliasAreFine) {
  write("a.amp", "alias relu(x) = Relu(X: x)");
  write("b.amp", "alias relu(x) = Relu(X: x)");
  EXPECT_EQ(rules("import \"a.amp\" import \"b.amp\" follow relu"), "follow Relu\n");
}

TEST_F(Compile, AByteOrderMarkAndCarriageReturnsAreNoFault) {
  std::ofstream(folder_ / "main.amp", std::ios::binary) << "\xef\xbb\xbf"
                                                        << "amp 1\r\ndeny Exp\r\n";
  EXPECT_EQ(rules_of("main.amp"), "deny Exp\n");
}

TEST_F(Compile, FilesThatAreNone) {
  const auto code = [&](const std::string& name) {
    EXPECT_FALSE(compile_file(name).has_value());
    const auto list = diagnostics_->sorted(sources_);
    return list.size() == 1 ? list[0]->code + " " + list[0]->message : said();
  };
  EXPECT_EQ(code("missing.amp"), "AMPC0401 the rule file does not exist");
  EXPECT_EQ(code("."), "AMPC0403 the rule file is a folder, not a rule file");
  std::ofstream(folder_ / "model.onnx", std::ios::binary) << "\x08\x08\x12\x04test:\x10";
  EXPECT_EQ(code("model.onnx"), "AMPC0403 the rule file is an ONNX model, not a rule file");
  std::ofstream(folder_ / "large.amp", std::ios::binary) << std::string((16U << 20U) + 2, '#');
  EXPECT_EQ(code("large.amp"), "AMPC0403 the rule file is too large for a rule file (over 16 MiB)");
}

TEST_F(Compile, DumpAstReadsOneFileAlone) {
  write("main.amp", "import \"nowhere.amp\"\ndeny   Exp");
  SourceMap sources;
  Diagnostics diagnostics;
  EXPECT_EQ(dump_ast((folder_ / "main.amp").string(), sources, diagnostics),
            "amp 1\nimport \"nowhere.amp\"\ndeny Exp\n");
  write("main.amp", "deny ,");
  EXPECT_EQ(dump_ast((folder_ / "main.amp").string(), sources, diagnostics), std::nullopt);
}

TEST(CompileShipped, RulesCompileWithoutAWord) {
  const fs::path rules = fs::path(AMPC_SOURCE_DIR) / "rules";
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(rules)) {
    if (entry.path().extension() != ".amp") continue;
    SourceMap sources;
    Diagnostics diagnostics;
    CompileOptions options;
    options.installed_rules = rules.string();
    const auto set = compile(entry.path().string(), options, sources, diagnostics);
    std::ostringstream said;
    render(said, diagnostics, sources);
    EXPECT_EQ(said.str(), "") << entry.path();
    EXPECT_TRUE(set.has_value());
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace ampc::lang
