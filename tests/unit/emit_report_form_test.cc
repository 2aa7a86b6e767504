#include "ampc/emit/report_form.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

namespace ampc::emit {
namespace {

using Json = nlohmann::ordered_json;

/// As a reader of YAML takes it: what is in quotes is a text, all else what it looks like.
Json read(const YAML::Node& node) {
  if (node.IsMap()) {
    Json j = Json::object();
    for (const auto& entry : node) {
      EXPECT_EQ(entry.first.Tag(), "!") << entry.first.Scalar();
      j[entry.first.Scalar()] = read(entry.second);
    }
    return j;
  }
  if (node.IsSequence()) {
    Json j = Json::array();
    for (const auto& item : node) j.push_back(read(item));
    return j;
  }
  if (node.IsNull()) return nullptr;
  return node.Tag() == "!" ? Json(node.Scalar()) : Json::parse(node.Scalar());
}

void expect_same(const Json& tree) {
  const std::string text = report_text(tree, ReportForm::yaml);
  EXPECT_TRUE(text.ends_with("\n"));
  EXPECT_EQ(Json::diff(read(YAML::Load(text)), Json::parse(report_text(tree, ReportForm::json))), Json::array());
}

const std::vector<std::string>& odd_texts() {
  static const std::vector<std::string> texts = {"",
                                                 " ",
                                                 "yes",
                                                 "No",
                                                 "true",
                                                 "null",
                                                 "~",
                                                 "1.5",
                                                 "0x10",
                                                 "0o17",
                                                 ".inf",
                                                 ".nan",
                                                 "1e5",
                                                 "2026-12-01",
                                                 "12:30:45",
                                                 "- a",
                                                 "a: b",
                                                 "a:",
                                                 "# c",
                                                 "a # c",
                                                 "'",
                                                 "\"",
                                                 "\\",
                                                 "\\n",
                                                 "a\nb",
                                                 "a\r\nb\n",
                                                 "\t",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 "&a",
                                                 "*a",
                                                 "!t",
                                                 "%d",
                                                 "@",
                                                 "`",
                                                 "|",
                                                 ">",
                                                 "?",
                                                 ": ",
                                                 "---",
                                                 "...",
                                                 "<<",
                                                 "\x01\x1f\x7f",
                                                 std::string("a\0b", 3),
                                                 "\u00e9\u6f22",
                                                 "\u2028\u2029\u0085\ufeff",
                                                 "\U0001f642",
                                                 "\xff\xfe no UTF-8 \xc3",
                                                 std::string(3000, 'x')};
  return texts;
}

TEST(ReportForm, YamlSaysWhatJsonSays) {
  Json tree = {{"flat", {1, 2, 3}}, {"empty", {{"list", Json::array()}, {"map", Json::object()}}}};
  for (const std::string& text : odd_texts()) {
    tree["keys"][text] = text;
    tree["list"].push_back(text);
    tree["maps"].push_back({{text, {{text, text}}}, {"then", nullptr}});
    tree["lists"].push_back({text, {text, Json::array({text, Json::object()})}});
  }
  tree["bool"] = {true, false};
  tree["whole"] = {0, -1, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::uint64_t>::max()};
  expect_same(tree);
}

TEST(ReportForm, YamlHasNumbersToTheLastBit) {
  Json numbers = {0.0, -0.0, 1e-7, 1e20, 1e300, 5e-324, 0.1, 65504.0, 1.0 / 3, std::numeric_limits<double>::max()};
  std::mt19937_64 draw(3);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = draw();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (number == number && number - number == 0) numbers.push_back(number);
  }
  expect_same({{"numbers", numbers}});
  EXPECT_EQ(report_text({{"n", {1e-7, 1e20, 2.5e-9}}}, ReportForm::yaml), "\"n\": [1.0e-07, 1.0e+20, 2.5e-09]\n");
}

TEST(ReportForm, YamlIsLaidOutForPeople) {
  const Json tree = {{"summary", {{"nodes", 3}, {"low", "fp16"}}},
                     {"nodes", {{{"name", "a"}, {"shape", {1, 2}}}, {{"name", "b"}, {"shape", Json::array()}}}}};
  EXPECT_EQ(report_text(tree, ReportForm::yaml), R"("summary":
  "nodes": 3
  "low": "fp16"
"nodes":
  - "name": "a"
    "shape": [1, 2]
  - "name": "b"
    "shape": []
)");
}

TEST(ReportForm, TheEndingSaysWhich) {
  EXPECT_EQ(report_form("a.html"), ReportForm::html);
  EXPECT_EQ(report_form("a.json"), ReportForm::json);
  EXPECT_EQ(report_form("a.yaml"), ReportForm::yaml);
  EXPECT_EQ(report_form("a.yml"), ReportForm::yaml);
  EXPECT_EQ(report_form("a.txt"), std::nullopt);
}

}  // namespace
}  // namespace ampc::emit
