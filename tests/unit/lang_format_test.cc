// `ampc fmt`: tests/golden/fmt/NAME.amp against NAME.txt, and what holds for every rule file in the repository.
// AMPC_UPDATE_GOLDENS=1 rewrites the texts.
#include "ampc/lang/format.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ampc/diag/utf8.h"
#include "ampc/lang/ast.h"
#include "ampc/lang/rule_file.h"

namespace ampc::lang {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> rule_files(const std::string& below) {
  std::vector<std::string> paths;
  const fs::path root(AMPC_SOURCE_DIR);
  for (const auto& entry : fs::recursive_directory_iterator(root / below)) {
    if (entry.path().extension() == ".amp") paths.push_back(fs::relative(entry.path(), root).string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

struct Formatted {
  std::optional<std::string> text;
  std::string said;
};

Formatted formatted(const std::string& text) {
  SourceMap sources;
  Diagnostics diagnostics;
  Formatted result;
  result.text = format(sources.add("test.amp", text), sources, diagnostics);
  std::ostringstream out;
  render(out, diagnostics, sources);
  result.said = out.str();
  return result;
}

std::string tree(const std::string& text) {
  SourceMap sources;
  Diagnostics diagnostics;
  return ast::print(ast::parse(sources.add("test.amp", text), sources, diagnostics));
}

std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(fs::path(AMPC_SOURCE_DIR) / path, std::ios::binary).rdbuf();
  return text.str();
}

class Format : public testing::TestWithParam<std::string> {};

TEST_P(Format, LaysOutAsExpected) {
  const std::string golden = fs::path(GetParam()).replace_extension(".txt").string();
  const auto result = formatted(slurp(GetParam()));
  ASSERT_TRUE(result.text) << result.said;
  const char* update = std::getenv("AMPC_UPDATE_GOLDENS");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(fs::path(AMPC_SOURCE_DIR) / golden, std::ios::binary) << *result.text;
  }
  EXPECT_EQ(*result.text, slurp(golden));
}
INSTANTIATE_TEST_SUITE_P(Golden, Format, testing::ValuesIn(rule_files("tests/golden/fmt")));

class EveryRuleFile : public testing::TestWithParam<std::string> {};

// What syntax errors there are, is told, and nothing else comes of it.
TEST_P(EveryRuleFile, IsAFixedPointOrAnError) {
  const RuleFile file = read_rule_file((fs::path(AMPC_SOURCE_DIR) / GetParam()).string());
  if (!file.ok) return;  // a model, latin1: told by ampc fmt, and covered there
  const auto once = formatted(file.text);
  if (!once.text) {
    EXPECT_THAT(once.said, testing::HasSubstr("error[AMPC0"));
    return;
  }
  const auto twice = formatted(*once.text);
  ASSERT_TRUE(twice.text) << twice.said;
  EXPECT_EQ(*twice.text, *once.text);
  EXPECT_EQ(tree(*once.text), tree(file.text));
  // What the syntax tree prints is rules too.
  const auto printed = formatted(tree(file.text));
  ASSERT_TRUE(printed.text);
  EXPECT_EQ(tree(*printed.text), tree(file.text));
}
INSTANTIATE_TEST_SUITE_P(Rules, EveryRuleFile, testing::ValuesIn(rule_files("rules")));
INSTANTIATE_TEST_SUITE_P(Tests, EveryRuleFile, testing::ValuesIn(rule_files("tests")));

class ShippedFile : public testing::TestWithParam<std::string> {};

// ampc fmt FILE does it.
TEST_P(ShippedFile, IsLaidOut) { EXPECT_EQ(formatted(slurp(GetParam())).text, slurp(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Rules, ShippedFile, testing::ValuesIn(rule_files("rules")));

TEST(FormatEdges, LineEndsAndBlanks) {
  EXPECT_EQ(formatted("\n\n amp 1\r\n\r\n\r\n\r\nallow Exp \t\r\n  # x  \r\n\r\n\r\n").text,
            "amp 1\n\nallow Exp\n# x\n");
  EXPECT_EQ(formatted("amp 1").text, "amp 1\n");
  EXPECT_EQ(formatted("# head\n\namp 1").text, "# head\n\namp 1\n");
}

TEST(FormatEdges, CommentsBehindConsecutiveLinesStandInOneColumn) {
  EXPECT_EQ(formatted("amp 1 #a\nallow Exp # b\n\ndeny Log#c\nlevel O1").text,
            "amp 1      #a\nallow Exp  # b\n\ndeny Log  #c\nlevel O1\n");
}

TEST(FormatEdges, ALineIsAtMostAsWideAsItMayBe) {
  std::string text = "amp 1\nallow A1";
  for (int i = 2; i < 200; ++i) text += ", A" + std::to_string(i);
  std::istringstream lines(*formatted(text + "\n").text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, utf8::count(line));
  EXPECT_LE(widest, kFormatWidth);
  EXPECT_GT(widest, kFormatWidth - 8);
}

TEST(FormatEdges, AnErrorIsToldAndNothingLaidOut) {
  for (const char* text :
       {"amp 1\nallow\n", "allow Exp\n", "amp 2\n", "amp 1\nallow Exp;\n", "amp 1\nscope \"a\" {\n"}) {
    const auto result = formatted(text);
    EXPECT_FALSE(result.text) << text;
    EXPECT_THAT(result.said, testing::HasSubstr("test.amp:")) << text;
  }
}

}  // namespace
}  // namespace ampc::lang
