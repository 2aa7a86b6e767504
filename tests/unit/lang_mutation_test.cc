// Damaged rule files: whatever the text, the compiler answers, and an answer without rules says why.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "ampc/lang/rule_set.h"

namespace ampc::lang {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> corpus() {
  std::vector<fs::path> paths;
  for (const char* folder : {"rules", "tests/golden/fail"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(AMPC_SOURCE_DIR) / folder)) {
      if (entry.path().extension() == ".amp") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    // The heads of long files are enough, and keep the test quick.
    if (!text.str().empty()) texts.push_back(text.str().substr(0, 1500));
  }
  return texts;
}

TEST(Mutation, EveryTextHasAnAnswer) {
  const std::vector<std::string> texts = corpus();
  ASSERT_FALSE(texts.empty());
  const fs::path file = fs::temp_directory_path() / ("ampc_mutation_" + std::to_string(::getpid()) + ".amp");
  constexpr unsigned kSeed = 7;
  std::mt19937 random(kSeed);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::string letters = "{}()[],:=\"/\\*#\n %<>!19aX.-";
  int compiled = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = texts[below(texts.size())];
    for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text.erase(at, 1 + below(12));
          break;
        case 1:
          text.insert(at, 1, letters[below(letters.size())]);
          break;
        case 2:
          text[at] = letters[below(letters.size())];
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), 1 + below(40)));
          break;
        default: {
          const std::string& other = texts[below(texts.size())];
          text.insert(at, other.substr(below(other.size()), 1 + below(80)));
        }
      }
    }
    std::ofstream(file, std::ios::binary) << text;
    SourceMap sources;
    Diagnostics diagnostics;
    const auto set = compile(file.string(), {}, sources, diagnostics);
    std::ostringstream said;
    render(said, diagnostics, sources);
    ASSERT_EQ(set.has_value(), !diagnostics.failed()) << "seed " << kSeed << ", round " << round << "\n"
                                                      << text << said.str();
    compiled += set ? 1 : 0;
    if (set) {
      // What was accepted has an AST that prints.
      SourceMap again;
      Diagnostics none;
      ASSERT_TRUE(dump_ast(file.string(), again, none).has_value()) << text;
    }
  }
  fs::remove(file);
  EXPECT_GT(compiled, 0);
}

}  // namespace
}  // namespace ampc::lang
