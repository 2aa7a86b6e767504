#include "unit/golden_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ampc::golden {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(GoldenFile, SplitsCasesAndSections) {
  const File file = parse(
      "about\n\n"
      "=== R1 first\n"
      "--- args --level O1\n"
      "--- model\nline 1\n\nline 3\n\n\n"
      "--- exit 1\n"
      "\n=== R2 second: more\n"
      "\n--- rules\namp 1\n");
  EXPECT_EQ(file.preamble, "about\n");
  ASSERT_EQ(file.cases.size(), 2U);
  const Case& first = file.cases[0];
  EXPECT_EQ(first.title, "R1 first");
  EXPECT_EQ(first.line, 3U);
  ASSERT_EQ(first.sections.size(), 3U);
  EXPECT_EQ(first.find("args")->argument, "--level O1");
  EXPECT_EQ(first.find("args")->text, "");
  EXPECT_EQ(first.find("model")->text, "line 1\n\nline 3\n");
  EXPECT_EQ(first.find("exit")->argument, "1");
  EXPECT_EQ(first.find("rules"), nullptr);
  EXPECT_EQ(file.cases[1].title, "R2 second: more");
  EXPECT_EQ(file.cases[1].find("rules")->text, "amp 1\n");
}

TEST(GoldenFile, LastLineNeedsNoNewline) {
  EXPECT_EQ(parse("=== a\n--- model\nx").cases.at(0).find("model")->text, "x\n");
}

TEST(GoldenFile, PrintedFileParsesToItself) {
  const std::string text = "about\n\n=== a\n--- args -q\n--- model\n  x\n\n  y\n--- onnx\n\n=== b\n--- log\nz\n";
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_EQ(print(parse(print(parse("=== a\n\n\n--- model\n\n\n")))), "=== a\n--- model\n");
}

TEST(GoldenFile, FaultsNameTheirLine) {
  EXPECT_THAT([] { parse("--- model\n"); }, ThrowsMessage<std::runtime_error>(HasSubstr("line 1: a section before")));
  EXPECT_THAT([] { parse("x\n===\n"); }, ThrowsMessage<std::runtime_error>(HasSubstr("line 2: a case without")));
  EXPECT_THAT([] { parse("=== a\n---\n"); }, ThrowsMessage<std::runtime_error>(HasSubstr("line 2: a section without")));
  EXPECT_THAT([] { parse("=== a\ntext\n"); }, ThrowsMessage<std::runtime_error>(HasSubstr("line 2: text between")));
  EXPECT_THAT([] { parse("=== a\n--- log\n--- log\n"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("line 3: a second section 'log'")));
}

TEST(GoldenFile, SectionsOfOneNameDifferByArgument) {
  EXPECT_EQ(parse("=== a\n--- explain n1\n--- explain n2\n").cases.at(0).sections.size(), 2U);
}

TEST(GoldenFile, WordsAreSplitAtSpacesOutsideQuotes) {
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words("  --level  O1 "), ElementsAre("--level", "O1"));
  EXPECT_THAT(words("-o \"a b\" \"\""), ElementsAre("-o", "a b", ""));
  EXPECT_THROW(words("\"a"), std::runtime_error);
}

}  // namespace
}  // namespace ampc::golden
