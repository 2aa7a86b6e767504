#include "ampc/driver/unused_inputs.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ampc/emit/output_file.h"

namespace ampc::driver {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class UnusedInputsTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "rules");
    for (const char* name : {"rules/team.amp", "rules/reached.amp", "rules/other.amp"})
      std::ofstream(path(name)) << "x";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path(name), std::ios::binary).rdbuf();
    return out.str();
  }

  fs::path folder_ = fs::temp_directory_path() / ("ampc_unused_inputs_" + std::to_string(::getpid()));
  Diagnostics diagnostics_;
};

TEST_F(UnusedInputsTest, AreTheDeclaredOnesThatWereNotRead) {
  const std::vector<std::string> read{path("rules/team.amp"), path("rules/reached.amp")};
  EXPECT_THAT(unread(path("rules/other.amp") + "\n" + path("rules/team.amp") + "\n" + path("rules/reached.amp"), read),
              ElementsAre(path("rules/other.amp")));
  EXPECT_THAT(unread("", read), IsEmpty());
  EXPECT_THAT(unread("\n\n" + path("rules/team.amp") + "\n", read), IsEmpty());
}

TEST_F(UnusedInputsTest, KnowAFileByWhateverNameItWasRead) {
  fs::create_directories(folder_ / "sandbox");
  fs::create_symlink(path("rules/reached.amp"), path("sandbox/reached.amp"));
  fs::create_symlink(path("rules/other.amp"), path("sandbox/other.amp"));
  const std::vector<std::string> read{path("rules/../rules/./reached.amp")};
  EXPECT_THAT(unread(path("sandbox/reached.amp") + "\n" + path("sandbox/other.amp") + "\n", read),
              ElementsAre(path("sandbox/other.amp")));
  // Gone by now, and known by its name.
  EXPECT_THAT(unread("gone/a.amp\ngone/b.amp\n", std::vector<std::string>{"gone/x/../a.amp"}),
              ElementsAre("gone/b.amp"));
}

TEST_F(UnusedInputsTest, AreNamedAsTheyWereDeclared) {
  const std::string odd = path("rules/ü (1) #$.amp");
  EXPECT_THAT(unread(odd + "\n" + path("rules/./other.amp"), {}), ElementsAre(odd, path("rules/./other.amp")));
}

TEST_F(UnusedInputsTest, AreWrittenWhereThatIsAskedFor) {
  std::ofstream(path("declared")) << path("rules/team.amp") << '\n' << path("rules/other.amp") << '\n';
  UnusedInputs options{path("declared"), path("unused"), {}};
  const std::vector<std::string> inputs{path("rules/team.amp")}, outputs{path("out.onnx")};
  ASSERT_TRUE(options.read(inputs, outputs, diagnostics_));
  options.write(inputs);
  EXPECT_EQ(text("unused"), path("rules/other.amp") + "\n");

  UnusedInputs none;
  ASSERT_TRUE(none.read(inputs, outputs, diagnostics_));
  none.write(inputs);
  EXPECT_FALSE(diagnostics_.failed());
}

TEST_F(UnusedInputsTest, AreNotWrittenOverWhatTheRunReadsOrWrites) {
  std::ofstream(path("declared")) << path("rules/team.amp") << '\n';
  const std::vector<std::string> inputs{path("rules/team.amp")}, outputs{path("out.onnx")};
  for (const char* taken : {"rules/team.amp", "declared", "out.onnx"}) {
    Diagnostics diagnostics;
    UnusedInputs options{path("declared"), path(taken), {}};
    EXPECT_FALSE(options.read(inputs, outputs, diagnostics)) << taken;
    EXPECT_EQ(diagnostics.errors(), 1U) << taken;
  }
}

TEST_F(UnusedInputsTest, WantAListThatCanBeRead) {
  for (const char* name : {"missing", "rules"}) {
    Diagnostics diagnostics;
    UnusedInputs options{path(name), path("unused"), {}};
    EXPECT_FALSE(options.read({}, {}, diagnostics)) << name;
    EXPECT_EQ(diagnostics.errors(), 1U) << name;
    EXPECT_FALSE(fs::exists(path("unused")));
  }
  const UnusedInputs nowhere{path("declared"), path("no such folder/unused"), {}};
  EXPECT_THROW(nowhere.write({}), IoError);
}

}  // namespace
}  // namespace ampc::driver
