// Runs the golden files of tests/golden/pass: each case compiles a model by rules and compares what comes out.
//
// Expected sections of a case, each compared with what the program makes of the case's model, rules and args:
//   decisions      standard output of `--emit decisions`
//   onnx           standard output of `--emit onnx`
//   explain NODE   standard output of `--explain NODE`
//   casts          casts that the output model has and the input model has not
//   weights        floating-point initializers and Constants of the output model
//   log            summary line and diagnostics of the compilation
//   exit N         exit status, 0 where the section is absent
// A section `annotate` gives nodes metadata, which the text format has no place for: lines of a node's first output, a
// key of metadata_props (or `doc_string`) and a value.
// Whatever a case shows, its output must pass onnx's full check and strict inference, must not depend on the number of
// threads, and compiled again must stay as it is (a section `once REASON` excepts a case from that); a failed
// compilation must leave no output. AMPC_UPDATE_GOLDENS=1 rewrites the expected texts in place.
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ampc/driver/driver.h"
#include "ampc/model/onnx_registry.h"
#include "unit/golden_file.h"
#include "unit/golden_run.h"
#include "unit/output_facts.h"

namespace ampc::golden {
namespace {

namespace fs = std::filesystem;

onnx::ModelProto load(const fs::path& path) {
  onnx::ModelProto model;
  if (!model.ParseFromString(read_file(path))) throw std::runtime_error(path.string() + " is no model");
  return model;
}

void annotate(onnx::GraphProto& graph, const std::vector<std::string>& entry) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) annotate(*attribute.mutable_g(), entry);
    if (node.output_size() == 0 || node.output(0) != entry.at(0)) continue;
    const std::string value = fmt::format("{}", fmt::join(entry.begin() + 2, entry.end(), " "));
    if (entry.at(1) == "doc_string") {
      node.set_doc_string(value);
      continue;
    }
    onnx::StringStringEntryProto* added = node.add_metadata_props();
    added->set_key(entry.at(1));
    added->set_value(value);
  }
}

/// Empty, or what onnx says against a model.
std::string complaint(const onnx::ModelProto& model) {
  try {
    onnx::checker::check_model(model, true);
    onnx::ModelProto copy = model;
    onnx::shape_inference::InferShapes(copy, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions{true, 1, false});
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

/// Compares a section, or in an update takes the text that is there now. Shipped rules are named without line and
/// column: editing a comment there changes no golden.
void compare(Section& section, const std::string& actual) {
  static const std::regex shipped(R"((\brules/[\w/.-]+\.amp):\d+:\d+)");
  const std::string text = without_blank_end(std::regex_replace(actual, shipped, "$1"));
  if (updating()) {
    section.text = text;
    return;
  }
  EXPECT_EQ(section.text, text) << "section " << section.name << " " << section.argument;
}

void check_case(Case& one) {
  const Section* model_text = one.find("model");
  ASSERT_NE(model_text, nullptr) << "a case without a model";
  const Workplace workplace;

  onnx::ModelProto model;
  onnx::OnnxParser parser(model_text->text);
  const onnx::Common::Status parsed = parser.Parse(model);
  ASSERT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  ASSERT_TRUE(parser.EndOfInput()) << "text after the model";
  if (const Section* notes = one.find("annotate")) {
    std::istringstream lines(notes->text);
    for (std::string line; std::getline(lines, line);) annotate(*model.mutable_graph(), words(line));
  }
  write_file("model.onnx", model.SerializeAsString());
  std::string rules = "rules/default.amp";
  if (const Section* text = one.find("rules")) {
    rules = "rules.amp";
    write_file(rules, text->text);
  }

  std::vector<std::string> args = {rules, "model.onnx", "-I", "rules"};
  if (const Section* more = one.find("args")) {
    const std::vector<std::string> list = words(more->argument);
    args.insert(args.end(), list.begin(), list.end());
  }
  const Run made = run(args, {"-o", "out.onnx", "-j", "1"});
  const Section* expected_exit = one.find("exit");
  const int expected_status = expected_exit == nullptr ? 0 : std::stoi(expected_exit->argument);
  EXPECT_EQ(made.status, expected_status) << made.err << made.out;

  std::optional<onnx::ModelProto> result;
  if (made.status == 0) {
    EXPECT_EQ(complaint(model), "") << "the model of the case itself";
    ASSERT_TRUE(fs::exists("out.onnx"));
    result = load("out.onnx");
    EXPECT_EQ(complaint(*result), "");
    const Run parallel = run(args, {"-o", "parallel.onnx", "-j", "4"});
    EXPECT_EQ(parallel.status, 0);
    EXPECT_EQ(read_file("out.onnx"), read_file("parallel.onnx")) << "-j 1 and -j 4 differ";
    if (one.find("once") == nullptr) {
      args.at(1) = "out.onnx";
      const Run again = run(args, {"-o", "again.onnx"});
      ASSERT_EQ(again.status, 0) << again.err;
      args.at(1) = "model.onnx";
      const onnx::ModelProto same = load("again.onnx");
      EXPECT_EQ(added_casts(*result, same), "") << "compiled again, the output has new casts";
      EXPECT_EQ(same.graph().node_size(), result->graph().node_size());
      EXPECT_EQ(float_weights(same), float_weights(*result));
    }
  } else {
    EXPECT_FALSE(fs::exists("out.onnx")) << "a failed compilation left its output";
  }

  const std::set<std::string> given = {"model", "annotate", "rules", "args", "exit", "once"};
  std::size_t compared = expected_status == 0 ? 0 : 1;
  for (Section& section : one.sections) {
    if (given.contains(section.name)) continue;
    ++compared;
    if (section.name == "decisions" || section.name == "onnx") {
      const Run emitted = run(args, {"--emit", section.name});
      EXPECT_EQ(emitted.status, expected_status) << emitted.err;
      compare(section, emitted.out);
    } else if (section.name == "explain") {
      const Run explained = run(args, {"--explain", section.argument});
      EXPECT_EQ(explained.status, expected_status) << explained.err;
      compare(section, explained.out);
    } else if (section.name == "log") {
      compare(section, made.err + made.out);
    } else if (section.name == "casts") {
      ASSERT_TRUE(result.has_value());
      compare(section, added_casts(model, *result));
    } else if (section.name == "weights") {
      ASSERT_TRUE(result.has_value());
      compare(section, float_weights(*result));
    } else {
      ADD_FAILURE() << "unknown section '" << section.name << "'";
    }
  }
  EXPECT_GT(compared, 0U) << "a case that expects nothing";
}

fs::path golden_folder() { return fs::path(AMPC_SOURCE_DIR) / "tests" / "golden" / "pass"; }

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(golden_folder()))
    if (entry.path().extension() == ".golden") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Pass) {
  onnx_registry::register_all();  // the checker looks operators up
  const fs::path path = golden_folder() / (GetParam() + ".golden");
  File file = parse(read_file(path));
  ASSERT_FALSE(file.cases.empty());
  for (Case& one : file.cases) {
    SCOPED_TRACE(path.filename().string() + ":" + std::to_string(one.line) + ": " + one.title);
    check_case(one);
  }
  if (updating()) write_file(path, print(file));
}

/// Titles of all cases without the rules' numbers before them, each with those numbers.
std::map<std::string, std::set<std::string>> titles() {
  std::map<std::string, std::set<std::string>> found;
  for (const std::string& name : golden_files()) {
    for (const Case& one : parse(read_file(golden_folder() / (name + ".golden"))).cases) {
      std::string_view rest = one.title;
      std::set<std::string> rules;
      static const std::regex number("R[0-9]+ ");
      std::cmatch match;
      while (std::regex_search(rest.data(), rest.data() + rest.size(), match, number,
                               std::regex_constants::match_continuous)) {
        rules.insert(std::string(rest.substr(0, static_cast<std::size_t>(match.length()) - 1)));
        rest.remove_prefix(static_cast<std::size_t>(match.length()));
      }
      found[std::string(rest)].insert(rules.begin(), rules.end());
    }
  }
  return found;
}

// tests/golden/semantics.txt
TEST(Golden, EveryRuleOfTheSemanticsHasCasesForAndAgainst) {
  const auto cases = titles();
  std::map<std::string, std::set<char>> shown;
  std::istringstream list(read_file(golden_folder().parent_path() / "semantics.txt"));
  for (std::string line; std::getline(list, line);) {
    static const std::regex form("(R[0-9]+) +([-+]) (.+)");
    std::smatch match;
    if (line.empty() || line.front() == '#') continue;
    ASSERT_TRUE(std::regex_match(line, match, form)) << line;
    const auto at = cases.find(match[3]);
    ASSERT_NE(at, cases.end()) << "no golden case has this title: " << line;
    EXPECT_TRUE(at->second.contains(match[1])) << "the case does not name the rule: " << line;
    shown[match[1]].insert(line[static_cast<std::size_t>(match.position(2))]);
  }
  for (int i = 1; i <= 34; ++i) {
    EXPECT_EQ(shown["R" + std::to_string(i)], (std::set<char>{'+', '-'})) << "R" << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace ampc::golden
