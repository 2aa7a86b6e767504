// The passes in the order in which they run. Each is one file, and says there which rules of the semantics it carries
// out.
#pragma once

#include "ampc/passes/plan.h"
#include "ampc/passes/readers.h"
#include "ampc/passes/rule_index.h"

namespace ampc {

struct PassContext {
  const Model& model;
  const RuleIndex& rules;
  const Readers& readers;
  Diagnostics& diagnostics;
  Plan& plan;
  bool assume;  // that large weights are ordinary, where nothing asks for more than that
  const weights::Measure& measure;
};

namespace passes {

/// R27: parameters, gradients, loss scales and backward nodes of a training graph.
void find_training(const PassContext& c);
/// R34: where the patterns of the rules are found. In parallel over nodes.
void match_patterns(const PassContext& c);
/// R12: what rules and schemas say of each node. In parallel over nodes.
void classify(const PassContext& c);
/// R12.1: warns of operators that nothing declares, and of values whose type nothing tells. Called by classify.
void report_walls(const PassContext& c);
/// R5, R7, R17, R32: tells of nodes that could not be as the rules say. Called by classify.
void report_decisions(const PassContext& c);
/// R6, R8: kept operands that are computed from a weight alone.
void keep_weight_roles(const PassContext& c);
/// R27: backward nodes take over what was decided for their forward nodes.
void follow_forward(const PassContext& c);
/// R25: weights that the low type cannot hold, and what is computed from them.
void guard_ranges(const PassContext& c);
/// R33: shape arithmetic and positions stay exact.
void keep_exact(const PassContext& c);
/// R4: mixed operands that onnx's inference refuses.
void check_mixed(const PassContext& c);
/// R34: where one node of a pattern has to stay fp32, all of them do.
void unite_patterns(const PassContext& c);
/// R16: nodes under `gray cut`, all at once. The other open nodes stay open.
void cut(const PassContext& c);
/// R14, R15: what follows its operands. Nothing is open afterwards.
void settle(const PassContext& c);
/// Casts change places with nodes that only move elements, where that leaves less to cast.
void move_casts(const PassContext& c);
/// R27: casts of the model's own that move behind an all-reduce, and what else reads them.
void check_gradients(const PassContext& c);
/// The type in which each value is made or stored: results (R10), inputs and outputs (R22), creators (R20), weights
/// (R24).
void type_values(const PassContext& c);
/// Scopes of one rank that disagree about a node.
void report_scope_conflicts(const PassContext& c);
/// Rules of names that match nothing in this model.
void report_unused(const PassContext& c);
/// R18, R19, R21, R23: casts, each once and where it dominates its readers.
void place_casts(const PassContext& c);

/// `tensor … store fp32`, or a role that says so where the weight is read.
bool stored_fp32(const PassContext& c, ValueId v);

}  // namespace passes

/// All passes. `plan.identity` tells that nothing is to be done.
/// With `assume`, large weights are taken for ordinary where no rule asks more of them (Plan::assumed): they are read
/// once then, when they are cast. `measure` is called from several threads.
Plan make_plan(const Model& model, const RuleIndex& rules, Diagnostics& diagnostics, bool assume = false,
               const weights::Measure& measure = weights::measure_here);

}  // namespace ampc
