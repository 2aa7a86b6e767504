// `ampc test RULES --expect FILE`: what a team wants its rules to decide, held against models.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include "onnx/onnx_pb.h"

#include "ampc/diag/codes.h"
#include "ampc/diag/model_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/driver/command.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/report.h"
#include "ampc/emit/decisions_text.h"
#include "ampc/lang/rule_file.h"

namespace ampc::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kForms =
    "a line is `model PATH`, `[NODES] OPERATOR low|fp32|left`, or `casts|low|fp32|left <=|==|>= N`";
constexpr std::size_t kShown = 3;  // nodes that a failed expectation names

struct TestOptions : PlanOptions {
  std::string rules, expect;
  std::vector<std::string> models;
  ReportOptions report;
};

/// One line of the file.
struct Expectation {
  Span span;
  std::optional<lang::NamePattern> nodes;  // of nodes' names and scopes; nothing: any
  std::string op;                          // `*`: any
  std::string wanted;                      // low, fp32, left
  std::string count;                       // casts, low, fp32, left; empty: about nodes
  std::string comparator;
  std::size_t number = 0;
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  for (;;) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

std::string_view kind_of(const Decision& d) {
  return d.choice == Choice::low ? "low" : d.choice == Choice::fp32 ? "fp32" : "left";
}

class Test {
 public:
  Test(const TestOptions& o, const Streams& s) : o_(o), s_(s) {}

  int run() {
    const lang::RuleFile file = lang::read_rule_file(o_.expect);
    if (file.code == codes::kNoSuchFile)
      return wrong_usage("test", fmt::format("{} cannot be read", o_.expect), s_.err);
    const std::string& text = file.text;
    models_ = o_.models;
    {
      SourceMap sources;
      Diagnostics diagnostics;
      if (!file.ok && file.code != codes::kEmptyFile) {
        const std::string what = file.fault.substr(0, file.fault.find(", not a"));
        diagnostics.error(codes::kBadExpectation, "the file of expectations " + what)
            .in(o_.expect)
            .fix(std::string(kForms));
      }
      read(sources.add(o_.expect, text), sources, diagnostics);
      if (diagnostics.failed()) {
        report(s_.err, diagnostics, sources, o_.report);
        return kWrongInput;
      }
    }
    if (models_.empty())
      return wrong_usage("test", "no model: give one with --model, or a line `model PATH` in the file", s_.err);
    int code = kOk;
    for (const std::string& model : models_) code = std::max(code, hold(model, text));
    return code;
  }

 private:
  /// Fills `list_` and `models_`.
  void read(FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
    const std::string_view text = sources.text(file);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::vector<std::string_view> words = words_of(text.substr(begin, end - begin));
      if (!words.empty()) {
        Expectation e;
        const auto at = [&](std::string_view word) { return static_cast<std::uint32_t>(word.data() - text.data()); };
        e.span = {file, at(words.front()), at(words.back()) + static_cast<std::uint32_t>(words.back().size())};
        std::string why;
        std::size_t wrong = 0;
        if (words.size() == 2 && words[0] == "model") {
          models_.push_back((fs::path(o_.expect).parent_path() / words[1]).lexically_normal().string());
        } else if (understand(words, e, why, wrong)) {
          list_.push_back(std::move(e));
        } else {
          const std::string_view word = words[wrong];
          diagnostics.error(codes::kBadExpectation, why.empty() ? "this is no expectation" : why)
              .at(why.empty() ? e.span : Span{file, at(word), at(word) + static_cast<std::uint32_t>(word.size())})
              .fix(std::string(kForms));
        }
      }
      begin = end + 1;
    }
  }

  /// False with `why`, about the word at `wrong`; without a reason where the line has no known form.
  static bool understand(const std::vector<std::string_view>& words, Expectation& e, std::string& why,
                         std::size_t& wrong) {
    const auto is = [](std::string_view word, std::initializer_list<std::string_view> list) {
      return std::find(list.begin(), list.end(), word) != list.end();
    };
    const bool counts = words.size() == 3 && is(words[0], {"casts", "low", "fp32", "left"});
    if (counts && is(words[1], {"<", ">", "=", "!=", "=<", "=>"})) {
      why = fmt::format("'{}' is no comparison here", words[1]);
      wrong = 1;
      return false;
    }
    if (counts && is(words[1], {"<=", "==", ">="})) {
      e.count = words[0];
      e.comparator = words[1];
      const char* last = words[2].data() + words[2].size();
      const auto read = std::from_chars(words[2].data(), last, e.number);
      if (read.ec == std::errc() && read.ptr == last) return true;
      why = fmt::format("'{}' is no number of nodes or casts", words[2]);
      wrong = 2;
      return false;
    }
    if (words.size() < 2 || words.size() > 3) return false;
    if (!is(words.back(), {"low", "fp32", "left"})) {
      why = fmt::format("a node is not '{}'", words.back());
      wrong = words.size() - 1;
      return false;
    }
    e.wanted = words.back();
    e.op = words[words.size() - 2];
    if (words.size() == 2) return true;
    e.nodes = lang::NamePattern::glob(words[0], &why);
    return e.nodes.has_value();
  }

  int hold(const std::string& model, const std::string& text) {
    Compilation c(o_, s_.err);
    if (const int code = c.read_and_decide(o_.rules, model, o_.report); code != kOk) return code;
    Diagnostics failures;
    const FileId file = c.sources.add(o_.expect, text);
    for (const Expectation& e : list_) {
      Span span = e.span;
      span.file = file;
      e.count.empty() ? nodes(c, e, span, failures) : counts(c, e, span, failures);
    }
    report(s_.err, failures, c.sources, o_.report);
    if (o_.report.form == Form::text) {
      s_.out << fmt::format("{}: {} of {} expectations hold\n", model, list_.size() - failures.errors(), list_.size());
    }
    return failures.failed() ? kWrongInput : kOk;
  }

  static void nodes(const Compilation& c, const Expectation& e, const Span& span, Diagnostics& failures) {
    const Model& m = *c.model;
    std::size_t found = 0;
    std::vector<NodeId> others;
    for (NodeId n = 0; n < m.nodes.size(); ++n) {
      const Op& op = m.op_of(n);
      const std::string full = op.domain.empty() ? std::string(op.name) : fmt::format("{}::{}", op.domain, op.name);
      if (e.op != "*" && e.op != full) continue;
      if (e.nodes && !e.nodes->matches(m.nodes[n].proto->name()) && !e.nodes->matches(RuleIndex::path_of(m, n)))
        continue;
      ++found;
      if (kind_of(c.plan.nodes[n]) != e.wanted) others.push_back(n);
    }
    if (found == 0) {
      std::vector<std::string> known;
      for (NodeId n = 0; n < m.nodes.size(); ++n) known.emplace_back(m.op_of(n).name);
      const bool op_known = e.op == "*" || std::find(known.begin(), known.end(), e.op) != known.end();
      failures
          .error(codes::kExpectation, op_known ? "no node of the model has this name or scope"
                                               : fmt::format("no node of the model is a '{}'", e.op))
          .at(span, op_known ? "" : did_you_mean(e.op, known))
          .in(m.path);
      return;
    }
    if (others.empty()) return;
    auto& d = failures
                  .error(codes::kExpectation, fmt::format("{} of {} {} not {}", others.size(), found,
                                                          found == 1 ? "node is" : "nodes are", e.wanted))
                  .at(span)
                  .in(m.path);
    for (std::size_t i = 0; i < std::min(kShown, others.size()); ++i) {
      const Decision& decision = c.plan.nodes[others[i]];
      const std::string text =
          fmt::format("{} is {}: {}", m.describe(others[i]), emit::choice_text(decision), reason_text(decision.reason));
      decision.rule.valid() ? d.also(decision.rule, text) : d.note(text);
    }
    if (others.size() > kShown) d.note(fmt::format("and {} more", others.size() - kShown));
  }

  static void counts(const Compilation& c, const Expectation& e, const Span& span, Diagnostics& failures) {
    const std::size_t is = e.count == "casts"  ? c.plan.added_casts
                           : e.count == "low"  ? c.plan.low_nodes
                           : e.count == "fp32" ? c.plan.fp32_nodes
                                               : c.plan.left_nodes;
    const bool holds = e.comparator == "<=" ? is <= e.number : e.comparator == ">=" ? is >= e.number : is == e.number;
    if (!holds) {
      const std::string what = e.count == "casts" ? fmt::format("{} cast{} added", is, is == 1 ? " is" : "s are")
                                                  : fmt::format("{} node{} {}", is, is == 1 ? " is" : "s are", e.count);
      failures.error(codes::kExpectation, fmt::format("{}, where {} {} is expected", what, e.comparator, e.number))
          .at(span)
          .in(c.model->path);
    }
  }

  const TestOptions& o_;
  const Streams& s_;
  std::vector<std::string> models_;
  std::vector<Expectation> list_;
};

}  // namespace

int test_command(const Arguments& args, const Streams& streams) {
  TestOptions o;
  CLI::App app("Holds what rules decide against what a team expects of them.", "ampc test");
  app.add_option("RULES", o.rules, "Rule file")->required();
  app.add_option("--expect", o.expect, "File of expectations, a line each")->required()->type_name("FILE");
  app.add_option("--model", o.models, "ONNX model, beside those that the file names; may be repeated")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  add_plan_options(app, o);
  add_report_options(app, o.report);
  app.footer(
      "Lines of FILE, with comments from # on:\n"
      "  model encoder.onnx          a model, beside FILE\n"
      "  /encoder/** MatMul low      every MatMul whose name or scope is like this; * for any operator\n"
      "  Softmax fp32                low, fp32 or left (untouched)\n"
      "  casts <= 12                 casts that are added; low, fp32 and left count nodes; <=, == or >=\n"
      "Ends with 1 where one does not hold, or means no node.");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  return Test(o, streams).run();
}

}  // namespace ampc::driver
