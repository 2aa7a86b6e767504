// Name patterns: what they match, and what is no pattern.
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <random>
#include <string>
#include <string_view>

#include "ampc/lang/rule_set.h"

namespace ampc::lang {
namespace {

struct Case {
  const char* pattern;
  std::vector<const char*> yes;
  std::vector<const char*> no;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.pattern; }

class Glob : public testing::TestWithParam<Case> {};

TEST_P(Glob, Matches) {
  std::string error;
  const auto pattern = NamePattern::glob(GetParam().pattern, &error);
  ASSERT_TRUE(pattern.has_value()) << error;
  EXPECT_EQ(pattern->text(), GetParam().pattern);
  EXPECT_FALSE(pattern->is_regex());
  for (const char* name : GetParam().yes) EXPECT_TRUE(pattern->matches(name)) << GetParam().pattern << " on " << name;
  for (const char* name : GetParam().no) EXPECT_FALSE(pattern->matches(name)) << GetParam().pattern << " on " << name;
}

const Case kGlobs[] = {
    {"bias", {"bias"}, {"bias2", "/bias", "Bias", ""}},
    {"*", {"", "a", "a.b:0"}, {"a/b", "/"}},
    {"**", {"", "a", "a/b/c"}, {}},
    {"*learning_rate*", {"learning_rate", "x.learning_rate_0"}, {"opt/learning_rate", "learningrate"}},
    {"**learning_rate*", {"opt/x/learning_rate_0", "learning_rate"}, {"learning_rate/x"}},
    {"/head/*", {"/head/fc", "/head/"}, {"/head", "/head/a/b", "x/head/fc"}},
    {"/decoder/**", {"/decoder/a", "/decoder/a/b", "/decoder"}, {"/decoder2", "/decoders/a", "a/decoder/b"}},
    {"a/**/b", {"a/b", "a/x/b", "a/x/y/b"}, {"ab", "a/xb", "a/b/c"}},
    {"**/b", {"b", "a/b", "a/c/b"}, {"ab", "b/c"}},
    {"layer.?", {"layer.0", "layer.x", "layer.\xc3\xb6"}, {"layer.", "layer.10", "layer./", "layerx0"}},
    {"layer.{0..3}", {"layer.0", "layer.3"}, {"layer.4", "layer.", "layer.00", "layer.{0..3}"}},
    {"layer.{9..11}.w", {"layer.9.w", "layer.10.w", "layer.11.w"}, {"layer.1.w", "layer.12.w"}},
    {"{q,k,v}_proj", {"q_proj", "v_proj"}, {"_proj", "qk_proj"}},
    {"{a,b*,{c,d}e}/x", {"a/x", "b/x", "bcd/x", "ce/x", "de/x"}, {"c/x", "e/x", "b/c/x"}},
    {"x{,_1}", {"x", "x_1"}, {"x_2"}},
    {"a,b", {"a,b"}, {"a", "b"}},
    {"a.b+c(d)[e]^$|", {"a.b+c(d)[e]^$|"}, {"axb+c(d)[e]^$|"}},
    {"a\\*b\\{c", {"a*b{c"}, {"axb{c"}},
    {"gr\xc3\xb6\xc3\x9f\x65/*", {"gr\xc3\xb6\xc3\x9f\x65/x"}, {"gro/x"}},
};
INSTANTIATE_TEST_SUITE_P(Globs, Glob, testing::ValuesIn(kGlobs));

TEST(GlobFaults, SayWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "it is empty"},
      {"a{b", "'{' is not closed"},
      {"a{b,{c}", "'{' is not closed"},
      {"a}b", "'}' closes nothing"},
      {"a{3..1}", "the range {3..1} is empty"},
      {"a{x..y}", "a range is of numbers: {0..3}"},
      {"a{0..}", "a range is of numbers: {0..3}"},
      {"a{0..99999999999}", "a range is of numbers: {0..3}"},
      {"a{0..10000}", "a range of more than 10000 numbers"},
  };
  for (const auto& [text, expected] : cases) {
    std::string error;
    EXPECT_FALSE(NamePattern::glob(text, &error).has_value()) << text;
    EXPECT_EQ(error, expected) << text;
  }
}

TEST(Regex, MatchesTheWholeName) {
  std::string error;
  const auto pattern = NamePattern::regex("encoder\\.layer\\.[0-3]\\..*", &error);
  ASSERT_TRUE(pattern.has_value()) << error;
  EXPECT_TRUE(pattern->is_regex());
  EXPECT_TRUE(pattern->matches("encoder.layer.2.weight"));
  EXPECT_TRUE(pattern->matches("encoder.layer.2.a/b"));
  EXPECT_FALSE(pattern->matches("encoder.layer.4.weight"));
  EXPECT_FALSE(pattern->matches("x.encoder.layer.2.weight"));
}

TEST(Regex, FaultsSayWhatIsWrong) {
  std::string error;
  EXPECT_FALSE(NamePattern::regex("a(b", &error).has_value());
  EXPECT_EQ(error, "missing ): a(b");
  EXPECT_FALSE(NamePattern::regex("(?=a)", &error).has_value());  // no look-ahead: time stays linear
}

// Plain ones are not compiled before they are used: what is taken for plain is what RE2 takes.
TEST(Regex, WhatIsTakenUnseenIsNoFault) {
  constexpr std::string_view letters = "ab./-\\dw*+:_(";
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  re2::RE2::Options quiet;
  quiet.set_log_errors(false);
  int good = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t n = 1 + below(6); n != 0; --n) text += letters[below(letters.size())];
    std::string error;
    const auto pattern = NamePattern::regex(text, &error);
    ASSERT_EQ(pattern.has_value(), re2::RE2(text, quiet).ok()) << text << ": " << error;
    good += pattern ? 1 : 0;
  }
  EXPECT_GT(good, 5000);
}

TEST(Patterns, AreSharedByCopies) {
  std::string error;
  auto pattern = NamePattern::glob("a/**", &error);
  ASSERT_TRUE(pattern.has_value());
  const NamePattern copy = *pattern;
  pattern.reset();
  EXPECT_TRUE(copy.matches("a/b/c"));
}

}  // namespace
}  // namespace ampc::lang
