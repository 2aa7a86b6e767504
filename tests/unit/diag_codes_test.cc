// Codes are for ever: each once, in its range.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "ampc/diag/codes.h"
#include "ampc/diag/model_codes.h"

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

// Both headers in one place: a name in both would not compile, and would name two codes elsewhere.
TEST(Codes, OfRulesAndModelsAreDifferent) { EXPECT_NE(codes::kNoSuchOperator, codes::kUnknownOperator); }

}  // namespace
}  // namespace ampc
