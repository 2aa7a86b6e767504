#include "ampc/emit/decisions_text.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/suggest.h"

namespace ampc::emit {
namespace {

std::string why(const Model& m, const Plan& plan, NodeId n, const SourceMap& sources) {
  const Decision& d = plan.nodes[n];
  std::string text(reason_text(d.reason));
  if (d.reason == Reason::backward) text += " " + m.describe(plan.training.forward_of(n));
  // What a pattern has decided, by itself or by what it is given.
  if (const auto* p = d.match == kNone ? nullptr : plan.matches[d.match].rule;
      p != nullptr && p->span.file == d.rule.file && p->span.begin == d.rule.begin) {
    text = d.reason == Reason::pattern ? "pattern " + p->name : fmt::format("pattern {}: {}", p->name, text);
  }
  if (d.value != kNone) text += fmt::format(", '{}'", m.values[d.value].name);
  if (d.rule.valid()) text += fmt::format(" ({})", sources.where(d.rule));
  return text;
}

std::string before_text(const Model& m, const CastNode& c) {
  const std::string& block = m.blocks[c.block].path;
  return c.before == kNone ? "at the end of " + block : "before " + node_path(m, c.before);
}

}  // namespace

std::string_view choice_text(const Decision& d) {
  switch (d.choice) {
    case Choice::low:
      return short_name(d.low);
    case Choice::fp32:
      return "fp32";
    case Choice::leave:
      return "left";
    case Choice::open:
      break;
  }
  return "open";
}

std::string node_path(const Model& m, NodeId n) {
  const Block& b = m.blocks[m.nodes[n].block];
  const std::string& name = m.nodes[n].proto->name();
  return b.path + "/" + (name.empty() ? fmt::format("#{}", n - b.first) : name);
}

void print_decisions(std::ostream& out, const Model& m, const Plan& plan, const SourceMap& sources) {
  for (NodeId n = 0; n < m.nodes.size(); ++n) {
    fmt::print(out, "node {} {} {}: {}\n", node_path(m, n), m.op_of(n).name, choice_text(plan.nodes[n]),
               why(m, plan, n, sources));
  }
  for (const CastNode& c : plan.casts) {
    if (c.stored) continue;
    fmt::print(out, "{} {} {} -> {} {}\n", c.reused == kNone ? "cast" : "cast of the model's own", c.name,
               short_name(c.from), short_name(c.to), before_text(m, c));
  }
  for (NodeId n = 0; n < m.nodes.size(); ++n) {
    if (!plan.removed.empty() && plan.removed[n] != 0)
      fmt::print(out, "removed {} {}\n", node_path(m, n), m.op_of(n).name);
  }
  for (const Retarget& r : plan.retargets) {
    fmt::print(out, "attribute {} {} = {}\n", node_path(m, r.node), r.attribute, short_name(r.to));
  }
  for (const WeightPlan& w : plan.weights) {
    if (w.storage == Storage::as_is) continue;
    const char* how = w.storage == Storage::both      ? "fp32 and "
                      : w.storage == Storage::rounded ? "fp32, rounded to "
                                                      : "";
    fmt::print(out, "weight {} stored {}{}{}\n", m.values[w.value].name, how, short_name(w.low),
               w.clamp ? ", clamped" : "");
  }
}

bool explain_node(std::ostream& out, const Model& m, const Plan& plan, const SourceMap& sources,
                  std::string_view name) {
  bool found = false;
  for (NodeId n = 0; n < m.nodes.size(); ++n) {
    const auto made = m.results_of(n);
    const bool by_result =
        std::any_of(made.begin(), made.end(), [&](ValueId v) { return v != kNone && m.values[v].name == name; });
    if (m.nodes[n].proto->name() != name && node_path(m, n) != name && !by_result) continue;
    found = true;
    fmt::print(out, "{}\n  {}: {}\n", m.describe(n), choice_text(plan.nodes[n]), why(m, plan, n, sources));
    const auto operands = m.operands_of(n);
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
      if (operands[slot] == kNone) continue;
      const Signature* s = m.op_of(n).signature;
      const Formal* f = s == nullptr ? nullptr : s->input(slot);
      const std::uint32_t at = m.nodes[n].operand_begin + static_cast<std::uint32_t>(slot);
      const ValueId v = plan.operand_values[at];
      const std::uint32_t cast = plan.operand_casts[at];
      fmt::print(out, "  operand {} {} '{}' {}{}\n", slot + 1, f == nullptr ? "" : f->name, m.values[v].name,
                 short_name(plan.home[v]),
                 cast == kNone ? "" : fmt::format(", cast to {}", short_name(plan.casts[cast].to)));
    }
    const auto results = m.results_of(n);
    for (std::size_t slot = 0; slot < results.size(); ++slot) {
      if (results[slot] != kNone) {
        fmt::print(out, "  result {} '{}' {}\n", slot + 1, m.values[results[slot]].name,
                   short_name(plan.home[results[slot]]));
      }
    }
  }
  return found;
}

}  // namespace ampc::emit
