// Codes are for ever: each once, in its range.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "ampc/diag/catalog.h"
#include "ampc/diag/codes.h"
#include "ampc/diag/model_codes.h"
#include "ampc/lang/rule_set.h"

namespace ampc {
namespace {

std::string read(const char* name) {
  std::ostringstream text;
  text << std::ifstream(std::string(AMPC_SOURCE_DIR) + "/src/ampc/diag/" + name).rdbuf();
  return text.str();
}

TEST(Codes, StandOnceAndInTheirRange) {
  std::set<std::string> seen;
  const std::regex code("\"(AMPC([0-9]{4}))\"");
  for (const auto& [file, low, high] : {std::tuple("codes.h", 1, 999), std::tuple("model_codes.h", 1000, 2999)}) {
    const std::string text = read(file);
    int count = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), code), end; it != end; ++it, ++count) {
      EXPECT_TRUE(seen.insert((*it)[1].str()).second) << (*it)[1] << " stands twice";
      const int number = std::stoi((*it)[2].str());
      EXPECT_GE(number, low) << file;
      EXPECT_LE(number, high) << file;
    }
    EXPECT_GT(count, 10) << file;
  }
}

std::set<std::string> declared_codes() {
  std::set<std::string> found;
  const std::regex code("\"(AMPC[0-9]{4})\"");
  for (const char* file : {"codes.h", "model_codes.h", "build_codes.h"}) {
    const std::string text = read(file);
    for (std::sregex_iterator it(text.begin(), text.end(), code), end; it != end; ++it) found.insert((*it)[1].str());
  }
  return found;
}

TEST(Catalog, HasATextForEachCodeAndNoOther) {
  std::set<std::string> told, names;
  for (const CodeText* c : all_codes()) {
    told.emplace(c->code);
    EXPECT_TRUE(names.emplace(c->name).second) << c->name;
    EXPECT_TRUE(std::regex_match(std::string(c->name), std::regex("[a-z]+(-[a-z]+)*"))) << c->name;
    EXPECT_FALSE(c->title.empty() || c->title.ends_with('.')) << c->code;
    EXPECT_TRUE(c->text.ends_with('.')) << c->code;
    EXPECT_EQ(find_code(c->code), c);
    EXPECT_EQ(find_code(c->name), c);
    std::istringstream lines{std::string(c->text)};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 108U) << c->code;
  }
  EXPECT_EQ(told, declared_codes());
}

/// The codes of what is said of rules that stand beside the ones that ship.
std::multiset<std::string> said_of(std::string_view rules, bool as_it_is) {
  const std::string path = testing::TempDir() + "/catalog.amp";
  std::ofstream(path) << (as_it_is ? "" : "amp 1\n") << rules << "\n";
  SourceMap sources;
  Diagnostics diagnostics;
  lang::CompileOptions options;
  options.installed_rules = std::string(AMPC_SOURCE_DIR) + "/rules";
  (void)lang::compile(path, options, sources, diagnostics);
  std::multiset<std::string> codes;
  for (const Diagnostic* d : diagnostics.sorted(sources)) codes.insert(d->code);
  return codes;
}

// What is called wrong shows its code, what is called right is right.
TEST(Catalog, ExamplesAreWhatTheySay) {
  for (const CodeText* c : all_codes()) {
    const bool head = c->right.starts_with("amp 1");
    if (!c->wrong.empty()) {
      EXPECT_GE(said_of(c->wrong, head).count(std::string(c->code)), 1U) << c->code << "\n" << c->wrong;
    }
    if (!c->right.empty()) {
      EXPECT_THAT(said_of(c->right, head), testing::IsEmpty()) << c->code << "\n" << c->right;
    }
  }
}

// Both headers in one place: a name in both would not compile, and would name two codes elsewhere.
TEST(Codes, OfRulesAndModelsAreDifferent) { EXPECT_NE(codes::kNoSuchOperator, codes::kUnknownOperator); }

}  // namespace
}  // namespace ampc
