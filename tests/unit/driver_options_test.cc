#include "ampc/driver/options.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ampc/driver/command.h"
#include "ampc/driver/driver.h"

namespace ampc::driver {
namespace {

struct Outcome {
  std::optional<Options> options;
  std::string out, err;
  int exit = -1;
};

Outcome parse(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  Outcome o;
  o.options = parse_options(args, out, err, o.exit);
  o.out = out.str();
  o.err = err.str();
  return o;
}

TEST(Options, AreWhatTheyWereGiven) {
  const Outcome o = parse({"r.amp",
                           "m.onnx",
                           "-o",
                           "out",
                           "--dtype",
                           "bf16",
                           "--level",
                           "O2",
                           "--no-promote",
                           "--gray",
                           "cut",
                           "--no-rewrite",
                           "moved",
                           "--no-rewrite",
                           "creators",
                           "-I",
                           "a",
                           "-I",
                           "b",
                           "--io",
                           "low",
                           "--depfile",
                           "d",
                           "--write-if-changed",
                           "-j",
                           "3",
                           "-q"});
  ASSERT_TRUE(o.options.has_value()) << o.err;
  EXPECT_EQ(o.options->rules, "r.amp");
  EXPECT_EQ(o.options->model, "m.onnx");
  EXPECT_EQ(o.options->output, "out");
  EXPECT_EQ(o.options->dtype, ElemType::bfloat16);
  EXPECT_EQ(o.options->level, "O2");
  EXPECT_EQ(o.options->promote, false);
  EXPECT_THAT(o.options->no_rewrite, testing::ElementsAre("moved", "creators"));
  EXPECT_EQ(o.options->gray, lang::Gray::cut);
  EXPECT_THAT(o.options->import_dirs, testing::ElementsAre("a", "b"));
  EXPECT_EQ(o.options->io, lang::Io::low);
  EXPECT_EQ(o.options->depfile, "d");
  EXPECT_TRUE(o.options->write_if_changed);
  EXPECT_EQ(o.options->jobs, 3);
  EXPECT_TRUE(o.options->quiet);
  EXPECT_EQ(o.options->emit, Emit::file);
}

TEST(Options, DepfilesAsCompilersSpellThem) {
  const Outcome o = parse({"r.amp", "m.onnx", "-MD", "-MF", "-out.d", "-MT", "a b", "-MQa b", "-MTc", "-MP"});
  ASSERT_TRUE(o.options.has_value()) << o.err;
  EXPECT_EQ(o.options->depfile, "-out.d");
  EXPECT_TRUE(o.options->depfile_beside);
  EXPECT_TRUE(o.options->depfile_style.phony);
  EXPECT_THAT(o.options->depfile_style.targets, testing::ElementsAre("a b", "a\\ b", "c"));
  EXPECT_TRUE(parse({"r.amp", "m.onnx", "-MMD"}).options.has_value());
  const Outcome joined = parse({"r.amp", "m.onnx", "-MFx.d"});
  ASSERT_TRUE(joined.options.has_value()) << joined.err;
  EXPECT_EQ(joined.options->depfile, "x.d");
  EXPECT_EQ(parse({"--", "-MFx", "-MD"}).options->rules, "-MFx");  // a file may be called so
  EXPECT_THAT(parse({"r.amp", "m.onnx", "-MP"}).err, testing::HasSubstr("ask for one with --depfile"));
  EXPECT_THAT(parse({"r.amp", "m.onnx", "-MT", "x"}).err, testing::HasSubstr("ask for one with --depfile"));
}

TEST(Options, TheCacheAndItsSize) {
  const Outcome o = parse({"r.amp", "m.onnx", "--cache", "dir", "--cache-size", "500M"});
  ASSERT_TRUE(o.options.has_value()) << o.err;
  EXPECT_EQ(o.options->cache, "dir");
  EXPECT_EQ(o.options->cache_size, std::uint64_t{500} << 20);
  const Outcome plain = parse({"r.amp", "m.onnx", "--cache", "dir"});
  ASSERT_TRUE(plain.options.has_value()) << plain.err;
  EXPECT_EQ(plain.options->cache_size, std::uint64_t{10} << 30);
}

TEST(Options, SizesAreBytesOrHaveAUnit) {
  const std::uint64_t k = 1024;
  const std::pair<const char*, std::uint64_t> right[] = {{"0", 0},
                                                         {"1", 1},
                                                         {"007", 7},
                                                         {"4096", 4096},
                                                         {"1K", k},
                                                         {"500M", 500 * k * k},
                                                         {"4g", 4 * k * k * k},
                                                         {"4GB", 4 * k * k * k},
                                                         {"3 MiB", 3 * k * k},
                                                         {"2Ti", 2 * k * k * k * k},
                                                         {"9b", 9}};
  for (const auto& [given, bytes] : right) {
    const Outcome o = parse({"r.amp", "m.onnx", "--cache", "d", "--cache-size", given});
    ASSERT_TRUE(o.options.has_value()) << given << o.err;
    EXPECT_EQ(o.options->cache_size, bytes) << given;
  }
  for (const char* given : {"much", "1Q", "G", "-1", "1.5G", "0x10", "4 GG", "1 000", "+5", "4iG"}) {
    const Outcome o = parse({"r.amp", "m.onnx", "--cache", "d", std::string("--cache-size=") + given});
    EXPECT_EQ(o.exit, kUsage) << given;
    EXPECT_THAT(o.err, testing::HasSubstr(std::string("ampc: --cache-size: '") + given +
                                          "' is no size; write a number of bytes, or one with K, M, G or T behind it, "
                                          "such as 4G\n"));
  }
  for (const char* given : {"99999999999999T", "18446744073709551616", "17179869184G"}) {
    const Outcome o = parse({"r.amp", "m.onnx", "--cache", "d", "--cache-size", given});
    EXPECT_EQ(o.exit, kUsage) << given;
    EXPECT_THAT(o.err, testing::HasSubstr("is more bytes than can be counted; write a smaller size"));
  }
  std::ostringstream out, err;
  EXPECT_EQ(run({"build", "--memory", "0"}, out, err), kUsage);
  EXPECT_THAT(err.str(), testing::StartsWith("ampc build: --memory: '0' is too little; write a number of bytes"));
}

TEST(Options, WhatIsNotSaidIsLeftToTheRules) {
  const Outcome o = parse({"r.amp", "m.onnx"});
  ASSERT_TRUE(o.options.has_value());
  EXPECT_FALSE(o.options->dtype || o.options->level || o.options->promote || o.options->gray || o.options->io);
}

TEST(Options, WrongUsageIsTwoAndNamesTheWayOut) {
  for (const std::vector<std::string>& args :
       std::initializer_list<std::vector<std::string>>{{},
                                                       {"r.amp"},
                                                       {"r.amp", "m.onnx", "--dtype", "fp8"},
                                                       {"r.amp", "m.onnx", "--gray", "fine"},
                                                       {"r.amp", "m.onnx", "--cast-device", "gpu"},
                                                       {"r.amp", "m.onnx", "--cache-size", "1G"},
                                                       {"r.amp", "m.onnx", "--cache", "d", "--cache-size", "much"},
                                                       {"r.amp", "m.onnx", "--promote", "--no-promote"},
                                                       {"r.amp", "m.onnx", "-j", "0"},
                                                       {"r.amp", "m.onnx", "--nonsense"},
                                                       {"r.amp", "m.onnx", "-q", "-v"},
                                                       {"r.amp", "m.onnx", "more"}}) {
    const Outcome o = parse(args);
    EXPECT_FALSE(o.options.has_value());
    EXPECT_EQ(o.exit, kUsage) << testing::PrintToString(args);
    EXPECT_THAT(o.err, testing::HasSubstr("ampc --help"));
    EXPECT_THAT(o.out, testing::IsEmpty());
  }
}

TEST(Options, TheModelAloneIsTold) {
  EXPECT_THAT(parse({"m.onnx"}).err, testing::HasSubstr("give the rule file before the model"));
}

TEST(Options, RulesAloneNeedNoModel) { EXPECT_TRUE(parse({"r.amp", "--emit", "rules"}).options.has_value()); }

// What --help says is part of the interface. AMPC_UPDATE_GOLDENS=1 writes it anew.
void expect_help(const std::vector<std::string>& args, const std::string& file) {
  std::ostringstream out, err;
  EXPECT_EQ(run(args, out, err), kOk);
  const std::string path = std::string(AMPC_TESTS_DIR) + "/golden/" + file;
  if (std::getenv("AMPC_UPDATE_GOLDENS") != nullptr) std::ofstream(path) << out.str();
  std::ostringstream want;
  want << std::ifstream(path).rdbuf();
  EXPECT_EQ(out.str(), want.str());
}

TEST(Options, HelpIsFrozen) {
  expect_help({"--help"}, "help.txt");
  for (const Command& c : commands()) {
    expect_help({std::string(c.name), "--help"}, "help_" + std::string(c.name) + ".txt");
  }
}

// Both ways to a command's help print the same.
TEST(Commands, EachTellsItsOptions) {
  for (const Command& c : commands()) {
    std::ostringstream long_way, short_way, err;
    EXPECT_EQ(run({"help", std::string(c.name)}, long_way, err), kOk);
    EXPECT_EQ(run({std::string(c.name), "--help"}, short_way, err), kOk);
    EXPECT_EQ(long_way.str(), short_way.str());
    EXPECT_THAT(long_way.str(), testing::HasSubstr("ampc " + std::string(c.name)));
    EXPECT_THAT(err.str(), testing::IsEmpty());
  }
}

TEST(Commands, HelpAloneIsTheWholeHelp) {
  std::ostringstream help, option, err;
  EXPECT_EQ(run({"help"}, help, err), kOk);
  EXPECT_EQ(run({"--help"}, option, err), kOk);
  EXPECT_EQ(help.str(), option.str());
  for (const Command& c : commands()) EXPECT_THAT(help.str(), testing::HasSubstr(std::string(c.summary)));
}

TEST(Commands, AnUnknownOneIsWrongUsage) {
  std::ostringstream out, err;
  EXPECT_EQ(run({"help", "hlep"}, out, err), kUsage);
  EXPECT_THAT(err.str(), testing::StartsWith("ampc: no command is called 'hlep'; did you mean 'help'?"));
}

// Only the bare name is the command's.
TEST(Commands, ARuleFileOfSuchANameIsReachable) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/help") << "amp 1\nallow MatMul\n";
  std::ostringstream out, err;
  EXPECT_EQ(run({folder + "/help", "--emit", "ast"}, out, err), kOk);
  EXPECT_THAT(out.str(), testing::HasSubstr("MatMul"));
}

TEST(Options, VersionIsALine) {
  const Outcome o = parse({"--version"});
  EXPECT_EQ(o.exit, kOk);
  EXPECT_THAT(o.out, testing::MatchesRegex("ampc [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Driver, ALevelThatTheRulesDoNotDefineIsWrongUsage) {
  std::ostringstream out, err;
  const std::string rules = std::string(AMPC_SOURCE_DIR) + "/rules/default.amp";
  const std::string model = std::string(AMPC_TESTS_DIR) + "/cases/baseline_mlp.onnx";
  EXPECT_EQ(run({rules, model, "--level", "O9"}, out, err), kUsage);
  EXPECT_EQ(err.str(), "ampc: the rules define no level 'O9'; they define O0, O1, O2 and OD\n");
}

TEST(Driver, FaultsOfRulesAndModelAreToldInOneRun) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/both.amp") << "amp 1\nallow Matmull\n";
  std::ofstream(folder + "/both.onnx") << "no model";
  std::ostringstream out, err;
  EXPECT_EQ(run({folder + "/both.amp", folder + "/both.onnx"}, out, err), kWrongInput);
  EXPECT_THAT(err.str(), testing::HasSubstr("did you mean 'MatMul'"));
  EXPECT_THAT(err.str(), testing::HasSubstr("this is a text file, not an ONNX model"));
}

TEST(Driver, ExplainsByNodeAndByResult) {
  const std::string rules = std::string(AMPC_SOURCE_DIR) + "/rules/default.amp";
  const std::string model = std::string(AMPC_TESTS_DIR) + "/cases/baseline_mlp.onnx";
  for (const char* name : {"matmul_1", "a"}) {
    std::ostringstream out, err;
    EXPECT_EQ(run({rules, model, "--explain", name}, out, err), kOk);
    EXPECT_THAT(out.str(), testing::HasSubstr("node 'matmul_1' (MatMul)\n  fp16: allow ("));
    EXPECT_THAT(out.str(), testing::HasSubstr("operand 1 A 'x' fp32, cast to fp16"));
  }
  std::ostringstream out, err;
  EXPECT_EQ(run({rules, model, "--explain", "matmul_2"}, out, err), kWrongInput);
  EXPECT_THAT(err.str(), testing::HasSubstr("did you mean 'matmul_1'?"));
}

}  // namespace
}  // namespace ampc::driver
