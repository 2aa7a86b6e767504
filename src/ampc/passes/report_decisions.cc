// What classify has to tell of nodes that could not be as the rules say.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ampc/diag/model_codes.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {
namespace {

/// Operand and result roles that a schema makes impossible: the first in order and how many nodes they hold in fp32.
struct Tied {
  const lang::RoleRule* rule = nullptr;
  OpId op = 0;
  std::size_t count = 0;
};

/// R7's note, once a rule and operator.
void report_tied(const PassContext& c) {
  std::vector<Tied> tied;
  for (NodeId n = 0; n < c.model.nodes.size(); ++n) {
    const Decision& d = c.plan.nodes[n];
    if (d.reason != Reason::tied_role) continue;
    const auto same = std::find_if(tied.begin(), tied.end(), [&](const Tied& t) {
      return t.op == c.model.nodes[n].op && t.rule->span.begin == d.rule.begin;
    });
    if (same != tied.end()) {
      ++same->count;
      continue;
    }
    for (const auto& roles : {c.rules.operand_roles(c.model.nodes[n].op), c.rules.result_roles(c.model.nodes[n].op)}) {
      for (const auto& r : roles) {
        if (r.rule->span.begin == d.rule.begin && r.rule->span.file == d.rule.file)
          tied.push_back({r.rule, c.model.nodes[n].op, 1});
      }
    }
  }
  const bool error = c.rules.settings().on_conflict == lang::OnConflict::error;
  for (const Tied& t : tied) {
    const Op& op = c.model.ops[t.op];
    c.diagnostics
        .report(error ? Severity::error : Severity::note, codes::kTiedRole,
                fmt::format("{}-{} binds the kept operands and the others to one type: {} {} in fp32 as a whole",
                            op.name, op.signature->since_version, t.count, t.count == 1 ? "node stays" : "nodes stay"))
        .at(t.rule->span, "this role")
        .fix("`on conflict store` keeps the weights in fp32 on disk and lets the nodes run low");
  }
}

/// R17: an `allow` of the user's own file that cannot be had. Those of imported lists are no news.
void report_no_effect(const PassContext& c) {
  std::map<std::pair<std::uint32_t, OpId>, std::pair<std::size_t, NodeId>> counts;
  for (NodeId n = 0; n < c.model.nodes.size(); ++n) {
    const Decision& d = c.plan.nodes[n];
    const bool overruled =
        d.reason == Reason::unsupported_schema || d.reason == Reason::unsupported_rule || d.reason == Reason::optimizer;
    if (!overruled || !d.listed_allow || d.allowed_by.file != kRootFile) continue;
    auto& [count, first] = counts.try_emplace({d.allowed_by.begin, c.model.nodes[n].op}, 0, n).first->second;
    ++count;
  }
  for (const auto& [key, found] : counts) {
    const auto& [count, first] = found;
    const Decision& d = c.plan.nodes[first];
    const Op& op = c.model.ops[key.second];
    auto& warning = c.diagnostics
                        .warning(codes::kNoEffect, fmt::format("`allow {}` has no effect: {} {} in fp32", op.name,
                                                               count, count == 1 ? "node stays" : "nodes stay"))
                        .at(d.allowed_by);
    if (d.reason == Reason::unsupported_rule) {
      warning.also(d.rule, "unsupported, says this");
    } else if (d.reason == Reason::optimizer) {
      warning.also(d.rule, "an optimizer, says this");
    } else {
      warning.note(fmt::format("{} of {} opset {} admits no {}", op.name, op.domain.empty() ? "ai.onnx" : op.domain,
                               op.version, short_name(d.low)));
      if (op.signature->is_declared()) warning.also(op.signature->declared, "declared here");
    }
  }
}

/// R5: what a newer opset would free.
void report_unsupported(const PassContext& c) {
  std::vector<std::size_t> counts(c.model.ops.size(), 0);
  std::vector<ElemType> low(c.model.ops.size(), ElemType::float16);
  for (NodeId n = 0; n < c.model.nodes.size(); ++n) {
    const Decision& d = c.plan.nodes[n];
    if (d.reason != Reason::unsupported_schema || !d.listed_allow || d.allowed_by.file == kRootFile) continue;
    ++counts[c.model.nodes[n].op];
    low[c.model.nodes[n].op] = d.low;
  }
  for (OpId op = 0; op < c.model.ops.size(); ++op) {
    if (counts[op] == 0) continue;
    const Op& o = c.model.ops[op];
    const Signature* newer = nullptr;
    for (const Signature* s : c.rules.rules().operators->versions(o.domain, o.name)) {
      if (s->since_version <= o.version || newer != nullptr || s->outputs.empty()) continue;
      if (s->outputs.front().elems.contains(low[op])) newer = s;
    }
    auto& d = c.diagnostics.note(
        codes::kOpsetNote, fmt::format("{} {} {} in fp32: {} opset {} has no {} for it", counts[op], o.name,
                                       counts[op] == 1 ? "stays" : "stay", o.domain.empty() ? "ai.onnx" : o.domain,
                                       o.version, short_name(low[op])));
    d.in(c.model.path);
    if (newer != nullptr) d.fix(fmt::format("opset {0} has: --opset {0} brings the model there", newer->since_version));
  }
}

/// R32: values of the other low type, which stay as they are.
void report_other_low(const PassContext& c) {
  const ElemType other = c.plan.low == ElemType::float16 ? ElemType::bfloat16 : ElemType::float16;
  const auto count =
      std::count_if(c.model.values.begin(), c.model.values.end(), [&](const Value& v) { return v.type == other; });
  if (count == 0) return;
  c.diagnostics
      .note(codes::kMixedLow, fmt::format("the model holds {} {} of {}, which stay so and meet {} through fp32", count,
                                          count == 1 ? "value" : "values", short_name(other), short_name(c.plan.low)))
      .in(c.model.path);
}

}  // namespace

void report_decisions(const PassContext& c) {
  report_tied(c);
  report_unsupported(c);
  report_no_effect(c);
  report_other_low(c);
}

}  // namespace ampc::passes
