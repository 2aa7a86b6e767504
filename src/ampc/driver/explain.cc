// `ampc explain CODE`: what a diagnostic means. `ampc explain RULES MODEL --node N`: why something is what it is.
#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include "onnx/onnx_pb.h"

#include "ampc/diag/catalog.h"
#include "ampc/diag/suggest.h"
#include "ampc/driver/command.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/report.h"
#include "ampc/emit/decisions_text.h"
#include "ampc/emit/explain.h"

namespace ampc::driver {
namespace {

struct ExplainOptions : PlanOptions {
  std::string rules_or_code, model;
  bool list = false;
  std::vector<std::string> nodes, values, casts;
  bool json = false;
  ReportOptions report;
};

/// `AMPC0012`, in small letters too, or a warning's name.
int explain_diagnostic(const std::string& given, const Streams& streams) {
  std::string code = given;
  if (code.starts_with("ampc")) code.replace(0, 4, "AMPC");
  const CodeText* text = find_code(code);
  if (text != nullptr) {
    streams.out << explain_code(*text);
    return kOk;
  }
  std::vector<std::string_view> names;
  for (const CodeText* c : all_codes()) names.insert(names.end(), {c->code, c->name});
  const std::string near = did_you_mean(given, names);
  return wrong_usage("explain",
                     fmt::format("no diagnostic is called '{}'{}{}; ampc explain --list has all", given,
                                 near.empty() ? "" : "; ", near),
                     streams.err);
}

class Explanation {
 public:
  Explanation(const ExplainOptions& o, const Streams& streams) : o_(o), s_(streams), c_(o, streams.err) {}

  int run() {
    if (const int code = c_.read_and_decide(o_.rules_or_code, o_.model, o_.report); code != kOk) return code;
    const Model& m = *c_.model;
    const emit::Explainer explainer(m, *c_.index, c_.plan, c_.sources);
    bool all = true;
    for (const std::string& name : o_.nodes) {
      all &= each(
          "node", name, m.nodes.size(), [&](std::size_t i) { return node_names(m, static_cast<NodeId>(i)); },
          [&](std::size_t i) { return explainer.node(static_cast<NodeId>(i)); });
    }
    for (const std::string& name : o_.values) {
      all &= each(
          "value", name, m.values.size(), [&](std::size_t i) { return Names{std::string(m.values[i].name)}; },
          [&](std::size_t i) { return explainer.value(static_cast<ValueId>(i)); });
    }
    for (const std::string& name : o_.casts) {
      all &= each(
          "cast", name, c_.plan.casts.size(),
          [&](std::size_t i) {
            return Names{c_.plan.casts[i].name, c_.plan.casts[i].node_name};
          },
          [&](std::size_t i) { return explainer.cast(i); });
    }
    return all ? kOk : kWrongInput;
  }

 private:
  using Names = std::vector<std::string>;

  /// A node answers to its name, its path, and what it makes.
  static Names node_names(const Model& m, NodeId n) {
    Names names = {m.nodes[n].proto->name(), emit::node_path(m, n)};
    for (const ValueId v : m.results_of(n)) {
      if (v != kNone) names.emplace_back(m.values[v].name);
    }
    return names;
  }

  /// Those of this very name, else those that it matches as a glob.
  bool each(std::string_view what, const std::string& wanted, std::size_t count,
            const std::function<Names(std::size_t)>& names,
            const std::function<nlohmann::ordered_json(std::size_t)>& explain) {
    std::vector<std::size_t> found;
    std::vector<std::string> known;
    for (std::size_t i = 0; i < count; ++i) {
      const Names all = names(i);
      if (std::find(all.begin(), all.end(), wanted) != all.end()) found.push_back(i);
      known.insert(known.end(), all.begin(), all.end());
    }
    std::string error;
    const auto glob = lang::NamePattern::glob(wanted, &error);
    const bool exact = !found.empty();
    for (std::size_t i = 0; !exact && glob && i < count; ++i) {
      const Names all = names(i);
      if (std::any_of(all.begin(), all.end(), [&](const std::string& n) { return !n.empty() && glob->matches(n); }))
        found.push_back(i);
    }
    for (const std::size_t i : found) {
      const auto object = explain(i);
      s_.out << (o_.json ? object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"
                         : emit::explanation_text(object));
    }
    if (!found.empty()) return true;
    const std::string near = did_you_mean(wanted, known);
    s_.err << fmt::format("ampc: {} has no {} '{}'{}{}\n", o_.model, what, wanted, near.empty() ? "" : "; ", near);
    return false;
  }

  const ExplainOptions& o_;
  const Streams& s_;
  Compilation c_;
};

}  // namespace

int explain_command(const Arguments& args, const Streams& streams) {
  ExplainOptions o;
  CLI::App app("Tells why a node, a value or a cast is what it is, or what a diagnostic means.", "ampc explain");
  app.add_option("RULES", o.rules_or_code, "Rule file; or, alone, the code of a diagnostic or a warning's name");
  app.add_option("MODEL", o.model, "ONNX model");
  const auto name_option = [&](const char* name, std::vector<std::string>& place, const char* description) {
    app.add_option(name, place, description)->type_name("NAME")->allow_extra_args(false);
  };
  name_option("--node", o.nodes, "Node of this name, or that makes a value of this name; a glob for many");
  name_option("--value", o.values, "Value of this name; a glob for many");
  name_option("--cast", o.casts, "Cast that ampc adds, by its result's name or its own; a glob for many");
  app.add_flag("--json", o.json, "A JSON object a line instead of text");
  app.add_flag("--list", o.list, "All codes of diagnostics with their names, a line each");
  add_plan_options(app, o);
  add_report_options(app, o.report);
  app.footer(
      "Examples: ampc explain rules/default.amp model.onnx --node /head/fc1\n"
      "          ampc explain AMPC0301");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  if (o.list) {
    for (const CodeText* c : all_codes()) streams.out << fmt::format("{} {:<22} {}\n", c->code, c->name, c->title);
    return kOk;
  }
  const bool asked = !o.nodes.empty() || !o.values.empty() || !o.casts.empty();
  if (o.model.empty() && !asked && !o.rules_or_code.empty()) return explain_diagnostic(o.rules_or_code, streams);
  if (o.model.empty())
    return wrong_usage("explain", "give a rule file and a model, or the code of a diagnostic", streams.err);
  if (!asked) return wrong_usage("explain", "say what to explain: --node, --value or --cast", streams.err);
  return Explanation(o, streams).run();
}

}  // namespace ampc::driver
