#include "ampc/emit/depfile.h"

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ampc/emit/output_file.h"

namespace ampc::emit {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Names = std::vector<std::string>;

TEST(EmitDepfile, ModelFirstThenTheRestSortedAndOnce) {
  const Depfile depfile =
      make_depfile("./out.onnx", "z/model.onnx", Names{"rules/b.amp", "a.bin", "z/model.onnx", "rules/a.amp", "a.bin"});
  EXPECT_EQ(depfile.text, "./out.onnx: \\\n  z/model.onnx \\\n  a.bin \\\n  rules/a.amp \\\n  rules/b.amp\n");
  EXPECT_THAT(depfile.errors, IsEmpty());
  EXPECT_THAT(depfile.warnings, IsEmpty());
}

TEST(EmitDepfile, NeverWithoutAPrerequisite) {
  EXPECT_EQ(make_depfile("out.onnx", "model.onnx", {}).text, "out.onnx: \\\n  model.onnx\n");
  // An output among its own prerequisites would be a circle.
  EXPECT_EQ(make_depfile("out.onnx", "model.onnx", Names{"out.onnx"}).text, "out.onnx: \\\n  model.onnx\n");
}

TEST(EmitDepfile, TheDataFileIsASecondTarget) {
  const Depfile depfile = make_depfile("a b", "model.onnx", Names{"a b.data", "w.bin"}, "a b.data");
  EXPECT_EQ(depfile.text, "a\\ b a\\ b.data: \\\n  model.onnx \\\n  w.bin\n");
  EXPECT_THAT(make_depfile("out", "model.onnx", {}, "o%.data").warnings,
              ElementsAre(HasSubstr("GNU make misreads '%'")));
}

TEST(EmitDepfile, OtherTargetsAndPhonyOnes) {
  DepfileStyle style;
  style.targets = {"$(dir)/x", escape_depfile_name("a $b")};
  style.phony = true;
  const Depfile depfile = make_depfile("o%ut", "m.onnx", Names{"a b.amp", "c#.bin"}, "o%ut.data", style);
  EXPECT_EQ(depfile.text, "$(dir)/x a\\ $$b: \\\n  m.onnx \\\n  a\\ b.amp \\\n  c\\#.bin\na\\ b.amp:\nc\\#.bin:\n");
  EXPECT_THAT(depfile.warnings, ElementsAre(HasSubstr("'#'")));  // no word of outputs that are not in it
  style.targets = {"a\nb"};
  EXPECT_THAT(make_depfile("out", "m.onnx", {}, {}, style).errors, ElementsAre(HasSubstr("line break")));
  style.targets.clear();
  EXPECT_THAT(make_depfile("out", "m.onnx", Names{"a%b"}, {}, style).warnings, ElementsAre(HasSubstr("'%'")));
}

TEST(EmitDepfile, Escapes) {
  EXPECT_EQ(escape_depfile_name("plain/name-1.onnx"), "plain/name-1.onnx");
  EXPECT_EQ(escape_depfile_name("two words"), "two\\ words");
  EXPECT_EQ(escape_depfile_name("a  b"), "a\\ \\ b");
  EXPECT_EQ(escape_depfile_name("a\\ b"), "a\\\\\\ b");
  EXPECT_EQ(escape_depfile_name("a\\\\ b"), "a\\\\\\\\\\ b");
  EXPECT_EQ(escape_depfile_name("a\\b"), "a\\b");
  EXPECT_EQ(escape_depfile_name("a\\b c"), "a\\b\\ c");
  EXPECT_EQ(escape_depfile_name("a#b"), "a\\#b");
  EXPECT_EQ(escape_depfile_name("a:b"), "a\\:b");
  EXPECT_EQ(escape_depfile_name("$HOME$"), "$$HOME$$");
  EXPECT_EQ(escape_depfile_name("100%[x]~{y}&'\";|*?"), "100%[x]~{y}&'\";|*?");
  EXPECT_EQ(escape_depfile_name("模型 é.onnx"), "模型\\ é.onnx");
}

TEST(EmitDepfile, LineBreaksAreErrors) {
  for (const char* name : {"a\nb", "a\rb"}) {
    const Depfile depfile = make_depfile("out.onnx", "model.onnx", Names{name});
    EXPECT_EQ(depfile.text, "");
    ASSERT_EQ(depfile.errors.size(), 1U);
    EXPECT_THAT(depfile.errors[0], HasSubstr("line break"));
    EXPECT_EQ(depfile.errors[0].find('\n'), std::string::npos);
  }
  EXPECT_EQ(make_depfile("o\no", "m\nm", Names{"r\nr"}).errors.size(), 3U);
  EXPECT_EQ(make_depfile("out.onnx", "", {}).errors.size(), 1U);
}

Names warnings_for(const std::string& name) { return make_depfile("out.onnx", "model.onnx", Names{name}).warnings; }

TEST(EmitDepfile, WarnsOfWhatToolsMisread) {
  EXPECT_THAT(warnings_for("a;b"), ElementsAre("GNU make and Ninja misread ';' in the file name 'a;b' of a depfile"));
  EXPECT_THAT(warnings_for("a|b|c"), ElementsAre(HasSubstr("GNU make and Ninja misread '|'")));
  EXPECT_THAT(warnings_for("a\tb"), ElementsAre(HasSubstr("Ninja misreads a tab")));
  EXPECT_THAT(warnings_for("a*b"), ElementsAre(HasSubstr("Ninja misreads '*'")));
  EXPECT_THAT(warnings_for("a&b?"), UnorderedElementsAre(HasSubstr("Ninja before 1.13 misreads '&'"),
                                                         HasSubstr("Ninja before 1.13 misreads '?'")));
  EXPECT_THAT(warnings_for("a#b"), ElementsAre(HasSubstr("CMake's Ninja generators misread '#'")));
  EXPECT_THAT(warnings_for("a$b"), ElementsAre(HasSubstr("CMake's Ninja generators misread '$'")));
  EXPECT_THAT(warnings_for("a:b"), ElementsAre(HasSubstr("CMake's Makefile generators misread ':'")));
  EXPECT_THAT(warnings_for("a\\b"), ElementsAre(HasSubstr("CMake misreads '\\'")));
  EXPECT_THAT(warnings_for("a\\#b"), Contains(HasSubstr("cannot both read '\\#'")));
  EXPECT_THAT(warnings_for("a\\"), Contains(HasSubstr("a backslash that ends it")));
  EXPECT_THAT(warnings_for("a "), ElementsAre(HasSubstr("GNU make misreads a space that ends it")));
  for (const char* fine : {"two words", "100%", "a=b", "模型", "(a){b}[c]~!@+,"}) {
    EXPECT_THAT(warnings_for(fine), IsEmpty()) << fine;
  }
}

TEST(EmitDepfile, SomeCharactersMatterByPlace) {
  EXPECT_THAT(make_depfile("out.onnx", "a=b", {}).warnings, ElementsAre(HasSubstr("GNU make misreads '='")));
  EXPECT_THAT(make_depfile("o=1", "model.onnx", {}).warnings, ElementsAre(HasSubstr("GNU make misreads '='")));
  EXPECT_THAT(make_depfile("o%", "model.onnx", {}).warnings, ElementsAre(HasSubstr("GNU make misreads '%'")));
  EXPECT_THAT(make_depfile("out.onnx", "m%", {}).warnings, IsEmpty());
}

/// Names that GNU make and Ninja read as they are meant, at any place among the prerequisites.
const Names kNames = {"two words.bin", "a#b.bin",           "cost$5.bin",  "$(HOME).bin",   "${x} $y.bin",
                      "模型 é.bin",    "a:b.bin",           "back\\slash", "a\\ b.bin",     "a\\\\ b.bin",
                      "100%.bin",      "a,b(c){d}!@+~.bin", "[x].bin",     "a  b  #  $.bin"};

/// Runs real build tools in a folder of its own.
class EmitDepfileTools : public ::testing::TestWithParam<std::string> {
 public:
  EmitDepfileTools() {
    std::string pattern = (fs::temp_directory_path() / "ampc-depfile-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~EmitDepfileTools() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

 protected:
  static bool has(const std::string& tool) {
    return std::system(fmt::format("command -v {} >/dev/null", tool).c_str()) == 0;
  }

  void put(const std::string& name, std::string_view text) { std::ofstream(folder_ / name, std::ios::binary) << text; }

  int run(const std::string& command) {
    const std::string line = fmt::format("cd '{}' && {{ {} ; }} >log 2>&1 </dev/null", folder_.string(), command);
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string log() {
    std::ifstream in(folder_ / "log", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  void age(const std::string& name, int seconds) {
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }

  fs::path folder_;
};

/// The parameter is the output's name.
TEST_P(EmitDepfileTools, MakeSeesEveryPrerequisite) {
  if (!has("make")) GTEST_SKIP() << "make is not installed";
  const std::string& output = GetParam();
  for (const std::string& model : {std::string("model.onnx"), kNames.front(), kNames[1], kNames[2]}) {
    const Depfile depfile = make_depfile(output, model, kNames);
    ASSERT_THAT(depfile.errors, IsEmpty());
    write_depfile((folder_ / "out.d").string(), depfile.text);
    put("Makefile", fmt::format("{}:\n\t@true\ninclude out.d\n", escape_depfile_name(output)));
    put(output, "");
    Names all = kNames;
    all.push_back(model);
    for (const std::string& name : all) {
      put(name, "");
      age(name, 100);
    }
    age(output, 50);
    ASSERT_EQ(run("make -q"), 0) << "not up to date: " << log();
    for (const std::string& name : all) {
      age(name, 0);
      EXPECT_EQ(run("make -q"), 1) << "does not see '" << name << "': " << log();
      age(name, 100);
    }
    ASSERT_EQ(run("make -q"), 0) << log();
  }
}

std::string ninja_path(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == ':' || c == '$') out += '$';
    out += c;
  }
  return out;
}

TEST_P(EmitDepfileTools, NinjaSeesEveryPrerequisite) {
  if (!has("ninja")) GTEST_SKIP() << "ninja is not installed";
  const std::string& output = GetParam();
  for (const std::string& model : {std::string("model.onnx"), kNames.front(), kNames[1], kNames[2]}) {
    const Depfile depfile = make_depfile(output, model, kNames);
    write_depfile((folder_ / "out.d").string(), depfile.text);
    put("build.ninja",
        fmt::format("rule r\n  command = touch $out\n  depfile = out.d\nbuild {}: r\n", ninja_path(output)));
    Names all = kNames;
    all.push_back(model);
    for (const std::string& name : all) {
      put(name, "");
      age(name, 100);
    }
    ASSERT_EQ(run("ninja"), 0) << log();
    ASSERT_EQ(run("ninja -n"), 0) << log();
    ASSERT_THAT(log(), HasSubstr("no work to do"));
    for (const std::string& name : all) {
      age(name, -10);
      EXPECT_EQ(run("ninja -n"), 0) << log();
      EXPECT_THAT(log(), Not(HasSubstr("no work to do"))) << "does not see '" << name << "'";
      age(name, 100);
    }
    ASSERT_EQ(run("ninja -n"), 0);
    ASSERT_THAT(log(), HasSubstr("no work to do"));
    ASSERT_EQ(run("rm -f .ninja_log .ninja_deps"), 0);
    fs::remove(folder_ / output);
  }
}

INSTANTIATE_TEST_SUITE_P(Outputs, EmitDepfileTools,
                         ::testing::Values("out.onnx", "out file.onnx", "out#1.onnx", "out$5.onnx",
                                           "ausgäng 模型.onnx"),
                         [](const auto& test) { return fmt::format("output{}", test.index); });

TEST(EmitDepfileWrite, ErrorsAreIoErrors) { EXPECT_THROW(write_depfile("/no such folder/out.d", "a: b\n"), IoError); }

}  // namespace
}  // namespace ampc::emit
