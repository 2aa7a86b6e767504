// Wrong rule files and what is said of them: tests/golden/fail/NAME.amp against NAME.txt.
// AMPC_UPDATE_GOLDENS=1 rewrites the texts; read them aloud before keeping them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ampc/lang/rule_set.h"

namespace ampc::lang {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(AMPC_TESTS_DIR) / "golden" / "fail"; }

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".amp") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Paths in the texts are as the rules spell them, so each case is compiled from its own folder.
class InFolder {
 public:
  explicit InFolder(const fs::path& path) : before_(fs::current_path()) { fs::current_path(path); }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

class Fail : public testing::TestWithParam<std::string> {};

TEST_P(Fail, SaysWhatIsWrong) {
  const InFolder here(folder());
  SourceMap sources;
  Diagnostics diagnostics;
  const auto rules = compile(GetParam() + ".amp", {}, sources, diagnostics);
  EXPECT_FALSE(rules.has_value());
  EXPECT_TRUE(diagnostics.failed());
  for (const Diagnostic* d : diagnostics.sorted(sources)) {
    EXPECT_TRUE(d->message.starts_with("expected") || !d->help.empty() || d->label.starts_with("did you mean"))
        << "what is to be written instead? " << d->message;
  }
  std::ostringstream text;
  render(text, diagnostics, sources);

  const std::string golden = GetParam() + ".txt";
  const char* update = std::getenv("AMPC_UPDATE_GOLDENS");
  if (update != nullptr && std::string(update) == "1") std::ofstream(golden, std::ios::binary) << text.str();
  std::ifstream in(golden, std::ios::binary);
  ASSERT_TRUE(in) << golden << " is missing; AMPC_UPDATE_GOLDENS=1 writes it";
  std::ostringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(text.str(), expected.str());
}

INSTANTIATE_TEST_SUITE_P(Rules, Fail, testing::ValuesIn(cases()), [](const auto& info) { return info.param; });

TEST(FailMany, TenMistakesAreTenErrors) {
  const InFolder here(folder());
  SourceMap sources;
  Diagnostics diagnostics;
  EXPECT_FALSE(compile("ten_mistakes.amp", {}, sources, diagnostics).has_value());
  EXPECT_EQ(diagnostics.errors(), 10U);
  // One on every line that says so.
  std::vector<std::uint32_t> lines;
  for (const Diagnostic* d : diagnostics.sorted(sources)) {
    ASSERT_TRUE(d->span.valid()) << d->message;
    lines.push_back(sources.position(d->span.file, d->span.begin).line);
  }
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{3, 4, 5, 6, 7, 8, 9, 10, 11, 13}));
}

}  // namespace
}  // namespace ampc::lang
