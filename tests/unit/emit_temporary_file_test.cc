// Temporary files: who removes them, and when.
#include "ampc/emit/temporary_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ampc/emit/output_file.h"

namespace ampc::emit::temporary {
namespace {

namespace fs = std::filesystem;

class EmitTemporaryFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("ampc_temporary_" + std::to_string(getpid()));
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void leave(const std::string& name) const { std::ofstream(path(name)) << "left behind"; }

  fs::path folder_;
};

constexpr const char* kDead = ".m.onnx.7f-0123456789abcdef.tmp";

TEST_F(EmitTemporaryFile, WhatADeadRunLeftGoes) {
  leave(kDead);
  leave(std::string(kDead) + ".link");
  sweep(path("m.onnx"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(EmitTemporaryFile, WhatIsNotOursStays) {
  const std::vector<std::string> others = {
      "m.onnx",
      ".m.onnx.tmp",
      ".m.onnx.7f-0123456789abcde.tmp",
      ".m.onnx.7f-0123456789abcdeg.tmp",
      ".m.onnx.7f_0123456789abcdef.tmp",
      ".m.onnx.-0123456789abcdef.tmp",
      ".m.onnx.7f-0123456789abcdef.tmp2",
      ".m.onnx.data.7f-0123456789abcdef.tmp",
      ".n.onnx.7f-0123456789abcdef.tmp",
  };
  for (const auto& name : others) leave(name);
  sweep(path("m.onnx"));
  for (const auto& name : others) EXPECT_TRUE(fs::exists(path(name))) << name;
}

TEST_F(EmitTemporaryFile, WhatALivingRunHoldsStays) {
  OutputFile file(path("m.onnx"));
  sweep(path("m.onnx"));
  EXPECT_TRUE(fs::exists(file.temporary()));
  file.keep();  // under its temporary name, which a model may refer to
  sweep(path("m.onnx"));
  EXPECT_TRUE(fs::exists(file.temporary()));
  fs::remove(file.temporary());
}

TEST_F(EmitTemporaryFile, WhatIsStillNeededStays) {
  leave(kDead);
  std::string asked;
  sweep(path("m.onnx"), [&](const std::string& name) {
    asked = name;
    return true;
  });
  EXPECT_EQ(asked, kDead);
  EXPECT_TRUE(fs::exists(path(kDead)));
}

TEST_F(EmitTemporaryFile, BesideWhatALinkPointsAt) {
  fs::create_directory(folder_ / "real");
  fs::create_symlink("real/m.onnx", path("link.onnx"));
  leave(std::string("real/") + kDead);
  sweep(path("link.onnx"));
  EXPECT_TRUE(fs::is_empty(folder_ / "real"));
}

TEST_F(EmitTemporaryFile, NoFolderIsNoFault) { sweep(path("nowhere/m.onnx")); }

}  // namespace
}  // namespace ampc::emit::temporary
