// The shipped rule files, held against ONNX's schemas: each compiles silently, and every operator has its verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ampc/diag/diagnostic.h"
#include "ampc/lang/rule_set.h"
#include "ampc/model/schemas.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;
using lang::OpName;
using lang::OpRule;
using lang::RoleAction;
using lang::RoleRule;
using lang::RuleSet;
using lang::Verdict;
using testing::IsEmpty;

constexpr int kOldest = 13;  // opsets of ai.onnx whose operators must have a verdict
constexpr int kNewest = 28;

fs::path rules_folder() { return fs::path(AMPC_SOURCE_DIR) / "rules"; }

std::string printed(const OpName& op) { return op.domain.empty() ? op.name : op.domain + "::" + op.name; }

/// Compiles a rule file; `said` is what was said about it, if there was an error or a warning (notes alone are
/// silence).
std::optional<RuleSet> compile(const fs::path& path, std::string* said) {
  SourceMap sources;
  Diagnostics diagnostics;
  lang::CompileOptions options;
  options.import_dirs = {rules_folder().string()};
  std::optional<RuleSet> rules = lang::compile(path.string(), options, sources, diagnostics);
  std::ostringstream text;
  render(text, diagnostics, sources);
  *said = diagnostics.errors() + diagnostics.warnings() == 0 ? "" : text.str();
  return rules;
}

/// A rule file of a test, gone when the test ends.
class TemporaryRules {
 public:
  explicit TemporaryRules(const std::string& text) {
    path_ = fs::temp_directory_path() / ("ampc_rules_" + std::to_string(::getpid()) + ".amp");
    std::ofstream(path_) << text;
  }
  ~TemporaryRules() { fs::remove(path_); }
  TemporaryRules(const TemporaryRules&) = delete;
  TemporaryRules& operator=(const TemporaryRules&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Operators that a model may use: of ai.onnx those of opsets 13 to 28, of other domains all.
std::vector<OpName> live_operators() {
  std::vector<OpName> list;
  const Schemas& schemas = Schemas::get();
  for (const std::string_view domain : schemas.domains()) {
    const int first = domain.empty() ? kOldest : 1;
    const int last = domain.empty() ? kNewest : schemas.newest(domain);
    for (const std::string_view name : schemas.operators(domain)) {
      bool live = false;
      for (int version = first; version <= last && !live; ++version) {
        const Signature* signature = schemas.find(domain, name, version);
        live = signature != nullptr && !signature->deprecated;
      }
      if (live) list.push_back({std::string(domain), std::string(name)});
    }
  }
  return list;
}

class ShippedRules : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string said;
    std::optional<RuleSet> rules = compile(rules_folder() / "default.amp", &said);
    ASSERT_TRUE(rules.has_value()) << said;
    rules_ = new RuleSet(std::move(*rules));
  }
  static void TearDownTestSuite() {
    delete rules_;
    rules_ = nullptr;
  }
  static const RuleSet& rules() { return *rules_; }
  static std::size_t level(const char* name) { return rules().level(name).value(); }

  /// What the lists say of an operator whatever its operands, by verdict; more than one is a contradiction.
  static std::vector<Verdict> verdicts(const OpName& op, std::size_t level, ElemType low) {
    std::vector<Verdict> list;
    for (const OpRule& rule : rules().ops)
      if (rule.op == op && !rule.where && rule.scope == lang::kWholeModel && rule.when.holds(level, low))
        list.push_back(rule.verdict);
    return list;
  }

 private:
  static inline const RuleSet* rules_ = nullptr;
};

TEST_F(ShippedRules, EveryFileCompilesAloneAndInSilence) {
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(rules_folder())) {
    if (entry.path().extension() != ".amp") continue;
    ++files;
    std::string said;
    EXPECT_TRUE(compile(entry.path(), &said).has_value()) << entry.path();
    EXPECT_EQ(said, "") << entry.path();
  }
  EXPECT_GE(files, 11U);
}

// A team imports a target's profile beside default.amp: no contradiction, no warning, and something that it says.
TEST_F(ShippedRules, EveryTargetGoesWithTheDefault) {
  std::size_t profiles = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(rules_folder() / "target")) {
    if (!entry.is_regular_file()) continue;
    ++profiles;
    const TemporaryRules both("amp 1\nimport \"default.amp\"\nimport \"target/" + entry.path().filename().string() +
                              "\"\n");
    std::string said;
    const std::optional<RuleSet> set = compile(both.path(), &said);
    ASSERT_TRUE(set.has_value()) << said;
    EXPECT_EQ(said, "") << entry.path();
    EXPECT_TRUE(std::any_of(set->ops.begin(), set->ops.end(), [](const OpRule& rule) {
      return rule.verdict == Verdict::unsupported;
    })) << entry.path();
  }
  EXPECT_GE(profiles, 5U);
}

TEST_F(ShippedRules, EveryOperatorHasExactlyOneVerdictAtO1) {
  const std::vector<OpName> operators = live_operators();
  EXPECT_GT(operators.size(), 200U);
  for (const OpName& op : operators) {
    for (const ElemType low : {ElemType::float16, ElemType::bfloat16}) {
      const std::vector<Verdict> found = verdicts(op, level("O1"), low);
      EXPECT_EQ(found.size(), 1U) << printed(op) << " has " << found.size() << " verdicts at O1";
      EXPECT_FALSE(!found.empty() && found[0] == Verdict::unsupported) << printed(op);
    }
  }
}

TEST_F(ShippedRules, NoOperatorIsInTwoListsAtAnyLevel) {
  std::set<OpName> named;
  for (const OpRule& rule : rules().ops) named.insert(rule.op);
  for (const OpName& op : named)
    for (std::size_t i = 0; i < rules().levels.size(); ++i)
      for (const ElemType low : {ElemType::float16, ElemType::bfloat16})
        EXPECT_LE(verdicts(op, i, low).size(), 1U) << printed(op) << " at " << rules().levels[i].name;
}

TEST_F(ShippedRules, EveryOperatorNamedExists) {
  for (const OpRule& rule : rules().ops)
    EXPECT_FALSE(rules().operators->versions(rule.op.domain, rule.op.name).empty()) << printed(rule.op);
}

TEST_F(ShippedRules, LevelsMeanWhatTheSemanticsSay) {
  EXPECT_EQ(rules().levels.size(), 4U);
  EXPECT_TRUE(rules().levels[level("O0")].off);
  for (const char* name : {"O1", "OD"}) {
    EXPECT_FALSE(rules().levels[level(name)].off) << name;
    EXPECT_FALSE(rules().levels[level(name)].default_low) << name;
    EXPECT_EQ(rules().levels[level(name)].weights, lang::Level::Weights::use) << name;
  }
  EXPECT_FALSE(rules().levels[level("O2")].off);
  EXPECT_TRUE(rules().levels[level("O2")].default_low);
  EXPECT_EQ(rules().levels[level("O2")].weights, lang::Level::Weights::low);
}

TEST_F(ShippedRules, SettingsAreTheDocumentedDefaults) {
  const lang::Settings& settings = rules().scopes.at(lang::kWholeModel).settings;
  EXPECT_EQ(settings.dtype, ElemType::float16);
  EXPECT_EQ(settings.level, rules().level("O1"));
  EXPECT_EQ(settings.promote, false);
  EXPECT_EQ(settings.io, lang::Io::keep);
  EXPECT_EQ(settings.overflow, lang::Overflow::keep);
}

TEST_F(ShippedRules, AtOdOnlyWhatIsAllowedIsLow) {
  std::vector<std::string> low;
  for (const OpRule& rule : rules().ops) {
    if (!rule.when.holds(level("OD"), ElemType::float16)) continue;
    EXPECT_NE(rule.verdict, Verdict::follow) << printed(rule.op);
    if (rule.verdict == Verdict::allow) low.push_back(printed(rule.op));
  }
  EXPECT_THAT(low, testing::IsSupersetOf({"MatMul", "Gemm", "Conv", "Einsum", "Attention"}));
  for (const char* name : {"Add", "Relu", "Softmax", "LayerNormalization", "Resize", "Gather"})
    EXPECT_THAT(low, testing::Not(testing::Contains(name)));
}

TEST_F(ShippedRules, AtO2OnlyWhatIsSlowOrNeverRightStays) {
  const std::size_t o2 = level("O2");
  for (const char* name : {"Exp", "Log", "Pow", "Softmax", "ReduceSum", "ReduceMean", "LayerNormalization",
                           "GroupNormalization", "CumSum", "Add", "Relu", "Reshape"})
    EXPECT_THAT(verdicts({"", name}, o2, ElemType::float16), IsEmpty()) << name;
  for (const char* name : {"Resize", "ScatterElements", "ScatterND", "Range", "NonMaxSuppression"})
    EXPECT_THAT(verdicts({"", name}, o2, ElemType::float16), testing::ElementsAre(Verdict::deny)) << name;
}

TEST_F(ShippedRules, AnEmbeddingIsDeniedAtEveryLevelAndAnyGatherIsNot) {
  std::size_t found = 0;
  for (const OpRule& rule : rules().ops) {
    if (rule.op != OpName{"", "Gather"} || rule.verdict != Verdict::deny) continue;
    ++found;
    EXPECT_TRUE(rule.where.has_value());
    for (const char* name : {"O1", "O2", "OD"}) EXPECT_TRUE(rule.when.holds(level(name), ElemType::bfloat16)) << name;
  }
  EXPECT_EQ(found, 1U);
  EXPECT_THAT(verdicts({"", "Gather"}, level("O1"), ElemType::float16), testing::ElementsAre(Verdict::follow));
}

// An allow that no opset could ever honour would be a lie of the list.
TEST_F(ShippedRules, EveryAllowedOperatorHasALowVersion) {
  for (const OpRule& rule : rules().ops) {
    if (rule.verdict != Verdict::allow) continue;
    bool some = false;
    for (const Signature* version : rules().operators->versions(rule.op.domain, rule.op.name))
      for (const Formal& input : version->inputs)
        some = some || (input.elems.contains(ElemType::float16) && input.elems.contains(ElemType::float32));
    EXPECT_TRUE(some) << printed(rule.op);
  }
}

// `leave` is for operators without a floating-point result, or whose result's type does not come from their operands.
TEST_F(ShippedRules, WhatIsLeftAloneHasNoLowResultOfItsOwn) {
  const std::set<std::string> typed_elsewhere = {"If", "Loop", "Scan", "SequenceMap", "BitCast", "CastLike",
                                                 "ai.onnx.preview.training::Gradient",
                                                 // A body decides.
                                                 "com.microsoft::BeamSearch", "com.microsoft::WhisperBeamSearch"};
  for (const OpRule& rule : rules().ops) {
    if (rule.verdict != Verdict::leave || typed_elsewhere.contains(printed(rule.op))) continue;
    for (const Signature* version : rules().operators->versions(rule.op.domain, rule.op.name)) {
      for (const Formal& output : version->outputs) {
        const bool bound = output.type_var == kNoTypeVar ||
                           version->type_vars.at(static_cast<std::size_t>(output.type_var)).bound_by_input;
        EXPECT_FALSE(bound && output.elems.contains(ElemType::float16)) << printed(rule.op) << " " << output.name;
      }
    }
  }
}

TEST_F(ShippedRules, BoundedOperatorsMakeFloats) {
  EXPECT_FALSE(rules().facts.empty());
  std::set<std::pair<OpName, lang::FactRule::Fact>> once;
  for (const lang::FactRule& fact : rules().facts) {
    EXPECT_TRUE(once.insert({fact.op, fact.fact}).second) << printed(fact.op) << " is stated twice";
    if (fact.fact != lang::FactRule::Fact::bounded && fact.fact != lang::FactRule::Fact::moves) continue;
    const auto versions = rules().operators->versions(fact.op.domain, fact.op.name);
    ASSERT_FALSE(versions.empty()) << printed(fact.op);
    const Signature& newest = *versions.back();
    EXPECT_TRUE(newest.outputs.at(0).elems.contains(ElemType::float16)) << printed(fact.op);
    if (fact.fact == lang::FactRule::Fact::moves) {
      EXPECT_EQ(newest.outputs.at(0).type_var, newest.inputs.at(0).type_var) << printed(fact.op);
    }
  }
}

std::vector<std::string> operand_names(const RuleSet& rules, const RoleRule& role) {
  const auto versions = rules.operators->versions(role.op.domain, role.op.name);
  const Signature& newest = *versions.back();
  std::vector<std::string> names;
  for (const lang::OperandRef& operand : role.operands) {
    const Formal* formal = nullptr;
    if (operand.position >= 0) {
      const auto position = static_cast<std::size_t>(operand.position);
      formal = role.results ? newest.output(position) : newest.input(position);
    }
    names.push_back(formal != nullptr ? formal->name : operand.name);
  }
  return names;
}

TEST_F(ShippedRules, RolesOfTheSemanticsAreThere) {
  std::map<std::string, std::vector<std::string>> found;
  for (const RoleRule& role : rules().roles) {
    std::string key = printed(role.op) + (role.results ? " result" : " arg");
    if (role.every) key += " *";
    if (role.except) key += " except";
    found[key] = operand_names(rules(), role);
  }
  EXPECT_EQ(found.at("BatchNormalization arg * except"), std::vector<std::string>{"X"});
  EXPECT_EQ(found.at("BatchNormalization result * except"), std::vector<std::string>{"Y"});
  EXPECT_THAT(found.at("Resize arg"), testing::Contains("scales"));
  EXPECT_THAT(found.at("Clip arg"), testing::ElementsAre("min", "max"));
  EXPECT_TRUE(found.contains("Range arg *"));
  EXPECT_EQ(found.at("Sin arg"), std::vector<std::string>{"input"});
}

TEST_F(ShippedRules, LayerNormArgumentsOfTorchWorkAsTheyStand) {
  const TemporaryRules file("amp 1\nimport \"default.amp\"\nlayer_norm arg 3,4 keep fp32\n");
  std::string said;
  const std::optional<RuleSet> compiled = compile(file.path(), &said);
  ASSERT_TRUE(compiled.has_value()) << said;
  std::size_t found = 0;
  for (const RoleRule& role : compiled->roles) {
    if (role.op != OpName{"", "LayerNormalization"} || !role.attributes.empty()) continue;
    ++found;
    EXPECT_EQ(role.action, RoleAction::keep_fp32);
    EXPECT_FALSE(role.results);
    EXPECT_THAT(operand_names(*compiled, role), testing::ElementsAre("Scale", "B"));
  }
  EXPECT_EQ(found, 1U);
}

TEST_F(ShippedRules, PaddleNamesCanBeAddedToTheDefaults) {
  const TemporaryRules file(
      "amp 1\nimport \"default.amp\"\nimport \"frontends/paddle.amp\"\n"
      "override deny O1: pool2d\ninstance_norm arg 4 store fp32\n");
  std::string said;
  const std::optional<RuleSet> compiled = compile(file.path(), &said);
  ASSERT_TRUE(compiled.has_value()) << said;
  std::vector<std::string> denied;
  for (const OpRule& rule : compiled->ops)
    if (rule.verdict == Verdict::deny && rule.when.holds(*compiled->level("O1"), ElemType::float16) &&
        !rule.when.holds(*compiled->level("OD"), ElemType::float16))
      denied.push_back(rule.op.name);
  EXPECT_THAT(denied, testing::UnorderedElementsAre("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"));
  const auto stored = std::find_if(compiled->roles.begin(), compiled->roles.end(),
                                   [](const RoleRule& role) { return role.action == RoleAction::store_fp32; });
  ASSERT_NE(stored, compiled->roles.end());
  EXPECT_THAT(operand_names(*compiled, *stored), testing::ElementsAre("scale"));
}

// `mul` is elementwise in torch and a product of matrices in Paddle.
TEST_F(ShippedRules, FrontendsThatDisagreeOnANameAreAnError) {
  const TemporaryRules file("amp 1\nimport \"frontends/torch.amp\"\nimport \"frontends/paddle.amp\"\n");
  std::string said;
  EXPECT_FALSE(compile(file.path(), &said).has_value());
  EXPECT_THAT(said, testing::HasSubstr("mul"));
  EXPECT_THAT(said, testing::HasSubstr("torch.amp"));
  EXPECT_THAT(said, testing::HasSubstr("paddle.amp"));
}

}  // namespace
}  // namespace ampc
