// `ampc diff RULES_A RULES_B MODEL`: what changes between two sets of rules.
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ampc/driver/command.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/report.h"
#include "ampc/emit/collapse.h"
#include "ampc/emit/decisions_text.h"
#include "ampc/emit/model_writer.h"
#include "ampc/emit/rewrite.h"
#include "ampc/emit/weight_jobs.h"

namespace ampc::driver {
namespace {

using Json = nlohmann::ordered_json;

struct DiffOptions : PlanOptions {
  std::string a, b, model;
  bool json = false;
  ReportOptions report;
};

/// One side: its decisions as text, before its model is rewritten for the sake of its size.
class Side {
 public:
  Side(const DiffOptions& o, std::ostream& err) : c_(o, err) {}

  /// Warnings are for whoever compiles by these rules.
  int decide(const std::string& rules, const DiffOptions& o) { return c_.read_and_decide(rules, o.model, o.report); }

  const Model& model() const { return *c_.model; }
  const Plan& plan() const { return c_.plan; }

  Json why(NodeId n) const {
    const Decision& d = c_.plan.nodes[n];
    Json why = {{"type", emit::choice_text(d)}, {"reason", reason_text(d.reason)}};
    if (d.rule.valid()) why["rule"] = c_.sources.where(d.rule);
    return why;
  }

  /// Casts that are nodes, by name.
  std::map<std::string, std::string> casts() const {
    std::map<std::string, std::string> result;
    for (const CastNode& cast : c_.plan.casts) {
      if (cast.stored || cast.reused != kNone) continue;
      result.emplace(cast.name, fmt::format("{} -> {}", short_name(cast.from), short_name(cast.to)));
    }
    return result;
  }

  std::map<std::string, std::string> weights() const {
    std::map<std::string, std::string> result;
    for (const WeightPlan& w : c_.plan.weights) {
      if (w.storage == Storage::as_is) continue;
      const std::string_view low = short_name(w.low);
      result.emplace(c_.model->values[w.value].name, w.storage == Storage::low    ? std::string(low)
                                                     : w.storage == Storage::both ? fmt::format("fp32 and {}", low)
                                                                                  : fmt::format("rounded to {}", low));
    }
    return result;
  }

  /// Bytes of the file that these rules make. Changes the model.
  std::uint64_t size() {
    if (c_.plan.identity) return c_.model->file_size;
    emit::WeightJobs jobs(*c_.model);
    emit::rewrite(*c_.model, c_.plan, jobs);
    emit::collapse_calls(*c_.model, c_.plan, c_.index->settings().functions == lang::Functions::inlined,
                         c_.diagnostics);
    return emit::image_of(*c_.model, jobs).layout.size;
  }

 private:
  Compilation c_;
};

/// What is in one of the two alone, or differs.
Json compare(std::string_view what, const std::map<std::string, std::string>& a,
             const std::map<std::string, std::string>& b, std::string_view absent) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [name, text] : a) both[name].first = text;
  for (const auto& [name, text] : b) both[name].second = text;
  Json list = Json::array();
  for (const auto& [name, texts] : both) {
    const auto& [before, after] = texts;
    if (before == after) continue;
    list.push_back({{std::string(what), name},
                    {"before", before.empty() ? absent : before},
                    {"after", after.empty() ? absent : after}});
  }
  return list;
}

std::string str(const Json& object, const char* key) { return object.at(key).get<std::string>(); }

std::string why_text(const Json& why) {
  return str(why, "type") + ", " + str(why, "reason") + (why.contains("rule") ? " (" + str(why, "rule") + ")" : "");
}

void print(std::ostream& out, const Json& d) {
  for (const Json& n : d.at("nodes")) {
    out << fmt::format("node {} {}\n  - {}\n  + {}\n", str(n, "node"), str(n, "operator"), why_text(n.at("before")),
                       why_text(n.at("after")));
  }
  for (const auto& [list, what] : {std::pair("casts", "cast"), std::pair("weights", "weight")}) {
    for (const Json& one : d.at(list))
      out << fmt::format("{} {}\n  - {}\n  + {}\n", what, str(one, what), str(one, "before"), str(one, "after"));
  }
  const auto before = d.at("bytes").at("before").get<std::int64_t>(),
             after = d.at("bytes").at("after").get<std::int64_t>();
  out << fmt::format("{} nodes, {} casts and {} weights differ; {} -> {} bytes ({:+})\n", d.at("nodes").size(),
                     d.at("casts").size(), d.at("weights").size(), before, after, after - before);
}

}  // namespace

int diff_command(const Arguments& args, const Streams& streams) {
  DiffOptions o;
  CLI::App app("Tells what changes between two sets of rules for a model: nodes, casts, weights, bytes.", "ampc diff");
  app.add_option("RULES_A", o.a, "Rule file as it was")->required();
  app.add_option("RULES_B", o.b, "Rule file as it shall be")->required();
  app.add_option("MODEL", o.model, "ONNX model")->required();
  app.add_flag("--json", o.json, "One JSON object in place of text");
  add_plan_options(app, o);
  add_report_options(app, o.report);
  app.footer("Example: ampc diff rules/default.amp team.amp model.onnx");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  Side a(o, streams.err), b(o, streams.err);
  if (const int code = a.decide(o.a, o); code != kOk) return code;
  if (const int code = b.decide(o.b, o); code != kOk) return code;
  Json d = {{"nodes", Json::array()}};
  for (NodeId n = 0; n < a.model().nodes.size(); ++n) {
    if (emit::choice_text(a.plan().nodes[n]) == emit::choice_text(b.plan().nodes[n])) continue;
    d["nodes"].push_back({{"node", emit::node_path(a.model(), n)},
                          {"operator", a.model().op_of(n).name},
                          {"before", a.why(n)},
                          {"after", b.why(n)}});
  }
  d["casts"] = compare("cast", a.casts(), b.casts(), "none");
  d["weights"] = compare("weight", a.weights(), b.weights(), "as it is");
  const std::uint64_t before = a.size(), after = b.size();
  d["bytes"] = {{"before", before}, {"after", after}};
  if (o.json) {
    streams.out << d.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    print(streams.out, d);
  }
  return kOk;
}

}  // namespace ampc::driver
