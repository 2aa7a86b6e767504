#include "ampc/emit/report_data.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>
#include "onnx/onnx_pb.h"

#include "ampc/emit/decisions_text.h"

namespace ampc::emit {
namespace {

using Json = nlohmann::ordered_json;

std::string_view group_of(const Decision& d) {
  return d.choice == Choice::low ? "low" : d.choice == Choice::fp32 ? "fp32" : "left";
}

class Collector {
 public:
  Collector(const Model& m, const RuleIndex& rules, const Plan& plan, const SourceMap& sources)
      : m_(m), rules_(rules), plan_(plan), sources_(sources) {}

  Json run() {
    number_rules();
    Json report = {{"format", 1}, {"program", std::string("ampc ") + AMPC_VERSION}};
    report["summary"] = summary();
    Json list = weights_report(m_, plan_);
    std::uint64_t before = 0, after = 0;
    for (const Json& w : list) {
      before += w.at("bytes_before").get<std::uint64_t>();
      after += w.at("bytes_after").get<std::uint64_t>();
    }
    report["memory"] = {{"model", {{"before", 0}, {"after", 0}}}, {"weights", {{"before", before}, {"after", after}}}};
    report["operators"] = operators();
    report["rules"] = rules();
    report["warnings"] = Json::array();
    report["weights"] = std::move(list);
    report["casts"] = casts();
    report["nodes"] = nodes();
    report["edges"] = edges();
    return report;
  }

 private:
  struct Use {
    std::size_t index = 0;
    std::map<std::string_view, std::size_t> nodes;  // by group
  };
  using Place = std::tuple<std::string, std::uint32_t, std::uint32_t>;  // file, line, column

  Place place(const Span& s) const {
    const auto at = sources_.position(s.file, s.begin);
    return {sources_.path(s.file), at.line, at.column};
  }

  /// Every statement that decided a node, in the order of files and lines.
  void number_rules() {
    std::map<std::pair<FileId, std::uint32_t>, Place> places;  // looked up once
    for (const Decision& d : plan_.nodes) {
      if (!d.rule.valid()) continue;
      const auto [at, is_new] = places.try_emplace({d.rule.file, d.rule.begin});
      if (is_new) {
        at->second = place(d.rule);
        spans_.emplace(at->second, d.rule);
      }
      ++uses_[at->second].nodes[group_of(d)];
    }
    std::size_t next = 0;
    for (auto& [p, use] : uses_) use.index = next++;
    for (const auto& [key, p] : places) index_[key] = uses_.at(p).index;
  }

  Json summary() const {
    const auto& options = rules_.model_options();
    Json s = {{"model", m_.path}, {"rules", rules_.rules().files}};
    s["level"] = rules_.rules().levels[options.level].name;
    s["dtype"] = short_name(plan_.low);
    s["promote"] = options.promote;
    s["gray"] = options.gray == lang::Gray::cut ? "cut" : "local";
    Json opsets = Json::object();
    for (const auto& o : m_.proto->opset_import()) opsets[o.domain().empty() ? "ai.onnx" : o.domain()] = o.version();
    s["opsets"] = std::move(opsets);
    s["nodes"] = {{"low", plan_.low_nodes}, {"fp32", plan_.fp32_nodes}, {"left", plan_.left_nodes}};
    s["casts_added"] = plan_.added_casts;
    s["unchanged"] = plan_.identity;
    return s;
  }

  Json operators() const {
    struct Row {
      std::map<std::string_view, std::size_t> nodes;
      std::size_t casts = 0;
    };
    std::map<std::pair<std::string_view, std::string_view>, Row> rows;  // operator, domain
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      Row& row = rows[{m_.op_of(n).name, m_.op_of(n).domain}];
      ++row.nodes[group_of(plan_.nodes[n])];
      for (std::uint32_t at = m_.nodes[n].operand_begin; at < m_.nodes[n].operand_end; ++at) {
        const std::uint32_t cast = plan_.operand_casts[at];
        row.casts += cast != kNone && !plan_.casts[cast].stored ? 1 : 0;
      }
    }
    Json list = Json::array();
    for (const auto& [op, row] : rows) {
      const auto of = [&nodes = row.nodes](std::string_view group) {
        return nodes.contains(group) ? nodes.at(group) : 0;
      };
      Json one = {{"operator", op.first}, {"domain", op.second.empty() ? "ai.onnx" : op.second}};
      one["nodes"] = of("low") + of("fp32") + of("left");
      for (const std::string_view group : {"low", "fp32", "left"}) one[std::string(group)] = of(group);
      one["cast_operands"] = row.casts;
      list.push_back(std::move(one));
    }
    return list;
  }

  Json rules() const {
    constexpr std::size_t kLongest = 200;
    Json list = Json::array();
    for (const auto& [p, use] : uses_) {
      const auto& [file, line, column] = p;
      std::string_view text = sources_.line_text(spans_.at(p).file, line);
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      Json one = {{"file", file}, {"line", line}, {"column", column}, {"text", text.substr(0, kLongest)}};
      std::size_t sum = 0;
      for (const std::string_view group : {"low", "fp32", "left"}) {
        const std::size_t count = use.nodes.contains(group) ? use.nodes.at(group) : 0;
        one[std::string(group)] = count;
        sum += count;
      }
      one["nodes"] = sum;
      list.push_back(std::move(one));
    }
    return list;
  }

  Json casts() const {
    std::vector<std::vector<NodeId>> readers(plan_.casts.size());
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      for (std::uint32_t at = m_.nodes[n].operand_begin; at < m_.nodes[n].operand_end; ++at) {
        const std::uint32_t cast = plan_.operand_casts[at];
        if (cast != kNone && (readers[cast].empty() || readers[cast].back() != n)) readers[cast].push_back(n);
      }
    }
    Json list = Json::array();
    for (std::size_t i = 0; i < plan_.casts.size(); ++i) {
      const CastNode& c = plan_.casts[i];
      if (c.stored) continue;
      Json one = {
          {"name", c.name}, {"of", m_.values[c.value].name}, {"from", short_name(c.from)}, {"to", short_name(c.to)}};
      if (const NodeId p = m_.values[c.value].producer; p != kNone) one["made_by"] = p;
      one["readers"] = readers[i];
      if (c.reused != kNone) one["own"] = c.reused;  // a cast of the model's that serves
      list.push_back(std::move(one));
    }
    return list;
  }

  Json nodes() const {
    Json list = Json::array();
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      const Decision& d = plan_.nodes[n];
      Json one = {
          {"name", node_path(m_, n)}, {"operator", m_.op_of(n).name}, {"group", group_of(d)}, {"type", choice_text(d)}};
      if (std::string s = scope(n); !s.empty()) one["scope"] = std::move(s);
      std::string reason(reason_text(d.reason));
      if (d.match != kNone && d.reason == Reason::pattern) reason += " " + plan_.matches[d.match].rule->name;
      one["reason"] = std::move(reason);
      if (d.value != kNone) one["by"] = m_.values[d.value].name;
      if (d.rule.valid()) one["rule"] = index_.at({d.rule.file, d.rule.begin});
      if (m_.op_of(n).is_constant) one["constant"] = true;
      if (!plan_.removed.empty() && plan_.removed[n] != 0) one["removed"] = true;
      list.push_back(std::move(one));
    }
    return list;
  }

  /// Of a node in a body, the body comes first.
  std::string scope(NodeId n) const {
    const Block& b = m_.blocks[m_.nodes[n].block];
    std::string path = RuleIndex::path_of(m_, n);
    const std::size_t slash = b.path.find('/');
    if (slash == std::string::npos) return path;
    const std::string body = b.path.substr(slash + 1);
    return path.empty() ? body : body + "/" + path;
  }

  Json edges() const {
    Json list = Json::array();
    for (NodeId n = 0; n < m_.nodes.size(); ++n) {
      std::vector<NodeId> from;
      for (const ValueId v : m_.operands_of(n)) {
        if (v != kNone && m_.values[v].producer != kNone) from.push_back(m_.values[v].producer);
      }
      std::sort(from.begin(), from.end());
      from.erase(std::unique(from.begin(), from.end()), from.end());
      for (const NodeId p : from) list.push_back(Json::array({p, n}));
    }
    return list;
  }

  const Model& m_;
  const RuleIndex& rules_;
  const Plan& plan_;
  const SourceMap& sources_;
  std::map<Place, Use> uses_;
  std::map<Place, Span> spans_;
  std::map<std::pair<FileId, std::uint32_t>, std::size_t> index_;  // by a span's file and begin: position in the list
};

}  // namespace

Json report_of(const Model& m, const RuleIndex& rules, const Plan& plan, const SourceMap& sources) {
  return Collector(m, rules, plan, sources).run();
}

void complete_report(Json& report, const ReportEnd& end, const Diagnostics& diagnostics, const SourceMap& sources) {
  report["summary"]["output"] = end.output;
  report["memory"]["model"] = {{"before", end.before}, {"after", end.after}};
  for (const Diagnostic* d : shown(diagnostics, sources, {}).list) {
    Json one = {{"severity", d->severity == Severity::note      ? "note"
                             : d->severity == Severity::warning ? "warning"
                                                                : "error"},
                {"code", d->code},
                {"message", d->message},
                {"where", d->span.valid() ? sources.where(d->span) : d->place}};
    if (!d->notes.empty()) one["notes"] = d->notes;
    if (!d->help.empty()) one["help"] = d->help;
    report["warnings"].push_back(std::move(one));
  }
}

}  // namespace ampc::emit
