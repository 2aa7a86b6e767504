// Wrong rule files and wrong manifests, and what is said of them: the cases of tests/golden/fail/*.golden and of
// tests/golden/manifest/*.golden, each in a folder of its own.
//
//   rules          rules.amp
//   file NAME      another file
//   bytes NAME     a file of bytes: \xNN, \n, \r, \t and \\ stand for one each, line ends of the section for nothing
//   folder NAME    a folder
//   model NAME     a model in onnx's text format
//   args …         command line; where the section is absent, `check rules.amp`, and of manifests `build`
//   exit N         exit status, 1 where the section is absent
//   says           what the program writes to stderr
//
// Whatever the case, each error has a way out, none is told twice, and the grammar's own words are in none.
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unit/golden_file.h"
#include "unit/golden_run.h"

namespace ampc::golden {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLeastCases = 150, kLeastManifests = 80;
constexpr std::string_view kManifests = "manifest";

fs::path folder() { return fs::path(AMPC_SOURCE_DIR) / "tests" / "golden"; }

/// "fail/syntax"
std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const std::string_view kind : {std::string_view("fail"), kManifests}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder() / kind)) {
      if (entry.path().extension() != ".golden") continue;
      names.push_back((fs::path(kind) / entry.path().stem()).string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string bytes_of(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') continue;
    if (text[i] != '\\' || i + 1 >= text.size()) {
      bytes += text[i];
      continue;
    }
    const char letter = text[++i];
    if (letter == 'x') {
      bytes += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      bytes += letter == 'n' ? '\n' : letter == 'r' ? '\r' : letter == 't' ? '\t' : letter;
    }
  }
  return bytes;
}

std::string model_of(const std::string& text) {
  onnx::ModelProto model;
  onnx::OnnxParser parser(text.c_str());
  const onnx::Common::Status parsed = parser.Parse(model);
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  return model.SerializeAsString();
}

void lay_out(const Case& one) {
  for (const Section& s : one.sections) {
    const fs::path path = s.name == "rules" ? "rules.amp" : s.argument;
    const bool written = s.name == "file" || s.name == "bytes" || s.name == "model";
    if (path.has_parent_path() && written) fs::create_directories(path.parent_path());
    if (s.name == "rules" || s.name == "file") write_file(path, s.text);
    if (s.name == "bytes") write_file(path, bytes_of(s.text));
    if (s.name == "model") write_file(path, model_of(s.text));
    if (s.name == "folder") fs::create_directories(path);
  }
}

/// The diagnostics of a text, each with its excerpts, notes and help.
std::vector<std::string> diagnostics_of(const std::string& said) {
  static const std::regex head("^(\\S.*: )?(error|warning|note)(\\[AMPC[0-9]+\\])?: .*");
  std::vector<std::string> list;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, head)) list.emplace_back();
    if (!list.empty()) list.back() += line + "\n";
  }
  return list;
}

void check_manners(const std::string& said) {
  static const std::regex way_out("expected|help: |did you mean|unexpected|error: ");
  static const std::regex jargon(
      "mismatched|extraneous|no viable|token recognition|EOF|LPAREN|RPAREN|LBRACE|RBRACE|LBRACKET|something else|'ID'|"
      "\\bID\\b|QNAME|VARIADIC|OPEN_STRING|STRAY");
  const std::vector<std::string> list = diagnostics_of(said);
  EXPECT_FALSE(list.empty()) << said;
  EXPECT_EQ(std::set<std::string>(list.begin(), list.end()).size(), list.size()) << "told twice:\n" << said;
  for (const std::string& one : list) {
    if (one.find("[AMPC2011]") != std::string::npos) continue;  // what a team expected and did not get
    EXPECT_TRUE(std::regex_search(one, way_out)) << "what is to be written instead?\n" << one;
    const std::string message = one.substr(0, one.find('\n'));
    EXPECT_FALSE(std::regex_search(message, jargon)) << message;
  }
}

/// Mistakes of a manifest come in the order of their places.
void check_order(const std::string& said) {
  static const std::regex place("^ampc\\.yaml:([0-9]+):([0-9]+): error");
  std::pair<int, int> before{0, 0};
  for (const std::string& one : diagnostics_of(said)) {
    std::smatch found;
    const std::string line = one.substr(0, one.find('\n'));
    if (!std::regex_search(line, found, place)) continue;
    const std::pair at(std::stoi(found[1]), std::stoi(found[2]));
    EXPECT_LE(before, at) << said;
    before = at;
  }
}

void check_case(Case& one, bool manifest) {
  const Workplace workplace;
  lay_out(one);
  std::vector<std::string> args = {"check", "rules.amp"};
  if (manifest) args = {"build"};
  if (const Section* given = one.find("args")) args = words(given->argument);
  const Run done = run(args);
  const Section* status = one.find("exit");
  EXPECT_EQ(done.status, status == nullptr ? 1 : std::stoi(status->argument)) << done.err;
  EXPECT_FALSE(fs::exists("out.onnx"));
  if (done.status == 1) check_manners(done.err);
  if (manifest) {
    check_order(done.err);
    EXPECT_FALSE(fs::exists("out")) << "a wrong manifest makes nothing";
  }
  const auto says =
      std::find_if(one.sections.begin(), one.sections.end(), [](const Section& s) { return s.name == "says"; });
  static const std::regex installed("  note: looked for [^\n]*/share/ampc/rules/[^\n]*\n");  // a path of this machine
  const std::string text = without_blank_end(std::regex_replace(done.err, installed, ""));
  if (updating()) {
    const auto at = says == one.sections.end() ? one.sections.insert(says, Section{"says", {}, {}}) : says;
    at->text = text;
    return;
  }
  ASSERT_NE(says, one.sections.end()) << "a case that expects nothing";
  EXPECT_EQ(says->text, text);
}

class Fail : public testing::TestWithParam<std::string> {};

TEST_P(Fail, SaysWhatIsWrong) {
  const fs::path path = folder() / (GetParam() + ".golden");
  File file = parse(read_file(path));
  ASSERT_FALSE(file.cases.empty());
  for (Case& one : file.cases) {
    SCOPED_TRACE(path.filename().string() + ":" + std::to_string(one.line) + ": " + one.title);
    check_case(one, GetParam().starts_with(kManifests));
  }
  if (updating()) write_file(path, print(file));
}

TEST(FailCases, AreManyAndDifferent) {
  std::set<std::string> inputs;
  std::size_t cases = 0, manifests = 0;
  for (const std::string& name : files()) {
    for (const Case& one : parse(read_file(folder() / (name + ".golden"))).cases) {
      std::string input;
      for (const Section& s : one.sections) {
        if (s.name != "says") input += s.name + " " + s.argument + "\n" + s.text;
      }
      EXPECT_TRUE(inputs.insert(std::move(input)).second) << name << ": " << one.title << " is there twice";
      ++(name.starts_with(kManifests) ? manifests : cases);
    }
  }
  EXPECT_GE(cases, kLeastCases);
  EXPECT_GE(manifests, kLeastManifests);
}

INSTANTIATE_TEST_SUITE_P(Files, Fail, testing::ValuesIn(files()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

}  // namespace
}  // namespace ampc::golden
