// `override` and `sealed`, for every kind of statement that can be either.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "ampc/lang/rule_set.h"

namespace ampc::lang {
namespace {

namespace fs = std::filesystem;

class Override : public testing::Test {
 protected:
  Override() : folder_(fs::temp_directory_path() / ("ampc_override_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~Override() override { fs::remove_all(folder_); }
  Override(const Override&) = delete;
  Override& operator=(const Override&) = delete;

  /// The rules of a team that imports the company's; what was said of them where there are none.
  std::string rules(const std::string& company, const std::string& team) {
    std::ofstream(folder_ / "company.amp") << "amp 1\n" << company << "\n";
    std::ofstream(folder_ / "team.amp") << "amp 1\nimport \"company.amp\"\n" << team << "\n";
    SourceMap sources;
    Diagnostics diagnostics;
    const auto set = compile((folder_ / "team.amp").string(), {}, sources, diagnostics);
    if (set) return dump_rules(*set);
    std::string codes;
    for (const Diagnostic* d : diagnostics.sorted(sources)) codes += d->code + " ";
    return codes;
  }

 private:
  fs::path folder_;
};

struct Kind {
  const char* name;
  const char* company;
  const char* team;
};

constexpr Kind kKinds[] = {
    {"list", "deny Log", "allow Log"},
    {"list with a condition", "deny Mul where A == B", "allow Mul where A == B"},
    {"fact", "unsupported fp16: Log", "unsupported bf16, fp16: Log"},
    {"list in a scope", "scope \"/a/**\" { deny Log }", "scope \"/a/**\" { $allow Log }"},
    {"role", "LayerNormalization arg Scale keep fp32", "LayerNormalization arg Scale store fp32"},
    {"role of results", "BatchNormalization result * except Y keep fp32", "BatchNormalization result * keep fp32"},
    {"pattern", "pattern p(x) { y = Exp(x) } keep fp32", "pattern p(x) { y = Log(x) } low"},
    {"pattern off", "pattern p(x) { y = Exp(x) } keep fp32", "pattern p off"},
    {"extern", "extern com.acme::A(x: T) -> (y: T) where T in fp32, fp16",
     "extern com.acme::A(x: float) -> (y: float)"},
};

/// The word before the statement, or where it says `$`.
std::string with(const std::string& word, std::string statement) {
  const std::size_t at = statement.find('$');
  if (at == std::string::npos) return word + " " + statement;
  return statement.replace(at, 1, word + " ");
}

TEST_F(Override, ReplacesWhatIsImported) {
  for (const Kind& kind : kKinds) {
    const std::string text = rules(kind.company, with("override", kind.team));
    EXPECT_EQ(text.find("AMPC0"), std::string::npos) << kind.name << ": " << text;
    if (std::string(kind.team).ends_with("off")) {
      EXPECT_EQ(text.find("pattern"), std::string::npos) << text;
    } else {
      EXPECT_NE(text, rules(kind.company, "")) << kind.name;
    }
  }
}

TEST_F(Override, NothingReplacesWhatIsSealed) {
  for (const Kind& kind : kKinds) {
    const bool inner = std::string(kind.company).starts_with("scope");
    const std::string company = inner ? "scope \"/a/**\" { sealed deny Log }" : with("sealed", kind.company);
    EXPECT_EQ(rules(company, with("override", kind.team)), "AMPC0306 ") << kind.name;
    // Sealed or not, by itself it means the same.
    EXPECT_EQ(rules(company, ""), rules(kind.company, "")) << kind.name;
  }
}

TEST_F(Override, WhatReplacesCanBeSealedItself) {
  EXPECT_NE(rules("deny Log", "override sealed allow Log").find("allow Log"), std::string::npos);
}

TEST_F(Override, WhoeverSealsMayBeNarrowerHimself) {
  EXPECT_EQ(rules("", "sealed deny Log\nallow Log where input is weight").find("AMPC0"), std::string::npos);
  EXPECT_EQ(rules("allow Log where input is weight", "sealed deny Log").find("AMPC0"), std::string::npos);
  EXPECT_EQ(rules("sealed deny Log", "allow Log where input is weight"), "AMPC0306 ");
  EXPECT_EQ(rules("sealed deny Log", "deny Log where input is weight").find("AMPC0"), std::string::npos);
}

TEST_F(Override, TypesOfOperandsCanBeAskedFor) {
  const std::string text = rules("", "deny Mul where type(A) == fp16 or bf16 == type(B)");
  EXPECT_NE(text.find("type(A) == \"fp16\""), std::string::npos) << text;
}

}  // namespace
}  // namespace ampc::lang
