#include "ampc/emit/explain.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ampc/emit/decisions_text.h"
#include "ampc/passes/explain.h"

namespace ampc::emit {
namespace {

using Json = nlohmann::ordered_json;

std::string reason_of(const Plan& plan, const Decision& d) {
  std::string text(reason_text(d.reason));
  if (d.reason == Reason::pattern && d.match != kNone) text += " " + plan.matches[d.match].rule->name;
  return text;
}

}  // namespace

Json Explainer::place(const Span& span) const {
  const auto at = sources_.position(span.file, span.begin);
  std::string_view line = sources_.line_text(span.file, at.line);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return {{"file", sources_.path(span.file)}, {"line", at.line}, {"column", at.column}, {"text", line}};
}

Json Explainer::chain(NodeId n) const {
  Json list = Json::array();
  for (const ChainLink& link : chain_of(m_, rules_, plan_, n)) {
    const Decision& d = plan_.nodes[link.node];
    Json one = {{"node", m_.describe(link.node)}, {"type", choice_text(d)}, {"reason", reason_of(plan_, d)}};
    if (d.value != kNone) one["value"] = m_.values[d.value].name;
    if (link.rule.valid()) one["rule"] = place(link.rule);
    if (!link.fact.empty()) one[link.of_schema ? "schema" : "model"] = link.fact;
    if (link.by != kNone) one["through"] = m_.values[link.by].name;
    list.push_back(std::move(one));
  }
  return list;
}

Json Explainer::slot(ValueId v, const Formal* formal, std::size_t position) const {
  Json one = {{"position", position + 1}};
  if (formal != nullptr) one["name"] = formal->name;
  one["value"] = m_.values[v].name;
  one["type"] = short_name(plan_.home[v]);
  return one;
}

Json Explainer::node(NodeId n) const {
  const Op& op = m_.op_of(n);
  Json result = {
      {"kind", "node"}, {"what", m_.describe(n)}, {"type", choice_text(plan_.nodes[n])}, {"chain", chain(n)}};
  Json lost = Json::array();
  for (const Loser& l : losers_of(m_, rules_, plan_, n)) {
    Json one = {{"what", l.what}, {"why", l.why}, {"rule", place(l.rule)}};
    if (l.condition.valid()) {
      const Span& s = l.condition;
      one["condition"] = sources_.text(s.file).substr(s.begin, s.end - s.begin);
    }
    lost.push_back(std::move(one));
  }
  if (!lost.empty()) result["lost"] = std::move(lost);
  if (op.signature != nullptr) {
    result["schema"] = {{"operator", fmt::format("{}-{}", op.name, op.signature->since_version)},
                        {"types", schema_of(op)}};
  }
  const auto operands = m_.operands_of(n), results = m_.results_of(n);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == kNone) continue;
    const std::uint32_t at = m_.nodes[n].operand_begin + static_cast<std::uint32_t>(i);
    Json one = slot(plan_.operand_values[at], op.signature == nullptr ? nullptr : op.signature->input(i), i);
    if (const std::uint32_t cast = plan_.operand_casts[at]; cast != kNone)
      one["cast"] = short_name(plan_.casts[cast].to);
    result["operands"].push_back(std::move(one));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kNone) continue;
    result["results"].push_back(slot(results[i], op.signature == nullptr ? nullptr : op.signature->output(i), i));
  }
  return result;
}

Json Explainer::value(ValueId v) const {
  const Value& value = m_.values[v];
  Json result = {
      {"kind", "value"}, {"what", fmt::format("value '{}'", value.name)}, {"type", short_name(plan_.home[v])}};
  if (value.producer != kNone) {
    result["made by"] = m_.describe(value.producer);
    result["chain"] = chain(value.producer);
  } else {
    result["model"] = value.weight != nullptr ? "a weight" : "an input of the graph";
    for (const WeightPlan& w : plan_.weights) {
      if (w.value == v && w.storage != Storage::as_is) result["stored"] = short_name(w.low);
    }
  }
  for (std::size_t i = 0; i < plan_.casts.size(); ++i) {
    if (plan_.casts[i].value == v) result["casts"].push_back(plan_.casts[i].name);
  }
  for (NodeId n = 0; n < m_.nodes.size(); ++n) {
    const auto operands = m_.operands_of(n);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != v) continue;
      const std::uint32_t cast = plan_.operand_casts[m_.nodes[n].operand_begin + i];
      const ElemType type = cast == kNone ? plan_.home[v] : plan_.casts[cast].to;
      result["readers"].push_back({{"node", m_.describe(n)}, {"position", i + 1}, {"type", short_name(type)}});
    }
  }
  return result;
}

Json Explainer::cast(std::size_t index) const {
  const CastNode& c = plan_.casts[index];
  const Value& value = m_.values[c.value];
  Json result = {{"kind", "cast"},
                 {"what", fmt::format("cast '{}'", c.name)},
                 {"type", short_name(c.to)},
                 {"of", value.name},
                 {"from", short_name(c.from)}};
  if (c.reused != kNone) result["reused"] = m_.describe(c.reused);
  if (value.producer != kNone) {
    result["made by"] = m_.describe(value.producer);
    result["chain"] = chain(value.producer);
  } else {
    result["model"] = value.weight != nullptr ? "a weight" : "an input of the graph";
  }
  // The edges that read it; the first of them is what made it.
  for (NodeId n = 0; n < m_.nodes.size(); ++n) {
    const auto operands = m_.operands_of(n);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (plan_.operand_casts[m_.nodes[n].operand_begin + i] != index) continue;
      const Signature* s = m_.op_of(n).signature;
      const Formal* f = s == nullptr ? nullptr : s->input(i);
      Json edge = {{"node", m_.describe(n)}, {"position", i + 1}};
      if (f != nullptr) edge["name"] = f->name;
      if (!result.contains("edges")) edge["chain"] = chain(n);
      result["edges"].push_back(std::move(edge));
    }
  }
  for (const OutputCast& o : plan_.outputs) {
    if (o.cast == index) result["outputs"].push_back(m_.blocks[o.block].path);
  }
  if (c.takes_name) result["outputs"].push_back(m_.blocks[c.block].path);
  return result;
}

}  // namespace ampc::emit
