// `///`: where it belongs, and the pages of `ampc doc`, tests/golden/doc/NAME.amp against NAME.md.
// AMPC_UPDATE_GOLDENS=1 rewrites the pages.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ampc/lang/ast.h"
#include "ampc/lang/doc_page.h"
#include "ampc/lang/format.h"

namespace ampc::lang {
namespace {

namespace fs = std::filesystem;

struct Parsed {
  explicit Parsed(const std::string& text) {
    Diagnostics diagnostics;
    const FileId id = sources.add("a.amp", text);
    file = ast::parse(id, sources, diagnostics);
    std::ostringstream out;
    render(out, diagnostics, sources);
    said = out.str();
  }
  SourceMap sources;
  ast::File file;
  std::string said;
};

TEST(Doc, BelongsToTheStatementBelow) {
  const Parsed p("amp 1\n/// a\n///\n///  b \ndeny Exp\nscope \"x\" {\n  /// c\n  # d\n  deny Log\n}\n");
  EXPECT_EQ(p.said, "");
  ASSERT_EQ(p.file.statements.size(), 3U);
  EXPECT_EQ(p.file.statements[1].doc, "a\n\n b");
  EXPECT_EQ(p.file.statements[2].doc, "");
  EXPECT_EQ(std::get<ast::Scope>(p.file.statements[2].node).body[0].doc, "c");
  EXPECT_EQ(ast::print(p.file), "amp 1\n/// a\n///\n///  b\ndeny Exp\nscope \"x\" {\n  /// c\n  deny Log\n}\n");
}

TEST(Doc, OfAFileStandsAboveItsVersionOrBelow) {
  for (const char* text :
       {"/// all\namp 1\ndeny Exp\n", "amp 1\n\n/// all\n\ndeny Exp\n", "amp 1\n/// all\n\n# x\ndeny Exp\n"}) {
    const Parsed p(text);
    EXPECT_EQ(p.said, "") << text;
    EXPECT_EQ(p.file.statements.front().doc, "all") << text;
    EXPECT_EQ(p.file.statements.back().doc, "") << text;
  }
  EXPECT_EQ(Parsed("/// a\namp 1\n\n/// b\n\ndeny Exp\n").file.statements.front().doc, "a\n\nb");
}

TEST(Doc, OfNothingIsTold) {
  for (const char* text : {"amp 1\ndeny Exp  /// behind\n", "amp 1\ndeny Exp\n/// at the end\n",
                           "amp 1\ndeny Exp,\n  /// within\n  Log\n", "amp 1\ndeny Exp\n\n/// apart\n\ndeny Log\n",
                           "amp 1\npattern p(x) {\n  /// of a step\n  y = Exp(x)\n} keep fp32\n"}) {
    EXPECT_THAT(Parsed(text).said, testing::HasSubstr("warning[AMPC0005]")) << text;
  }
}

TEST(Doc, OtherSlashesAreNone) {
  EXPECT_THAT(Parsed("amp 1\n// a\ndeny Exp\n").said, testing::HasSubstr("AMPC0004"));
  EXPECT_THAT(Parsed("amp 1\n//// a\ndeny Exp\n").said, testing::HasSubstr("AMPC0004"));
  EXPECT_EQ(Parsed("amp 1\n# /// a\nnode \"x///y\" keep fp32\n").said, "");
}

TEST(Doc, FmtKeepsIt) {
  SourceMap sources;
  Diagnostics diagnostics;
  const auto text =
      format(sources.add("a.amp",
                         "/// all  \namp   1\n\n\n  /// a\n ///b\n# c\ndeny   Exp\nscope \"x\" {\n/// d\ndeny Log }\n"),
             sources, diagnostics);
  EXPECT_EQ(text, "/// all\namp 1\n\n/// a\n///b\n# c\ndeny Exp\nscope \"x\" {\n  /// d\n  deny Log\n}\n");
  EXPECT_EQ(diagnostics.warnings(), 0U);
}

std::vector<std::string> pages() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(AMPC_TESTS_DIR) / "golden/doc")) {
    if (entry.path().extension() == ".amp") names.push_back(entry.path().stem().string());
  }
  return names;
}

class DocPage : public testing::TestWithParam<std::string> {};

TEST_P(DocPage, IsTheGolden) {
  const fs::path folder = fs::path(AMPC_TESTS_DIR) / "golden/doc";
  std::ostringstream text, want;
  text << std::ifstream(folder / (GetParam() + ".amp")).rdbuf();
  const Parsed p(text.str());
  EXPECT_EQ(p.said, "");
  const std::string page =
      doc_page(p.file, p.sources, {GetParam() + ".amp", "../" + GetParam() + ".amp", [](const std::string& import) {
                                     return import == "levels.amp" ? "levels.amp.md" : "";
                                   }});
  const fs::path golden = folder / (GetParam() + ".md");
  if (std::getenv("AMPC_UPDATE_GOLDENS") != nullptr) std::ofstream(golden) << page;
  want << std::ifstream(golden).rdbuf();
  EXPECT_EQ(page, want.str());
}

INSTANTIATE_TEST_SUITE_P(Golden, DocPage, testing::ValuesIn(pages()));

}  // namespace
}  // namespace ampc::lang
