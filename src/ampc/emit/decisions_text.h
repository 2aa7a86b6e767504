// Decisions as text: `--emit decisions` and `--explain`.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "ampc/diag/diagnostic.h"
#include "ampc/passes/plan.h"

namespace ampc::emit {

/// "fp16", "fp32", "left"
std::string_view choice_text(const Decision& d);
/// "main/fc1", "main/#3": the block, and the name or the position in it.
std::string node_path(const Model& m, NodeId n);

/// Every node with its decision and its reason, then casts, weights and changed attributes; a line each.
void print_decisions(std::ostream& out, const Model& m, const Plan& plan, const SourceMap& sources);

/// The decision of each node of that name, with operands and results; false where there is none.
bool explain_node(std::ostream& out, const Model& m, const Plan& plan, const SourceMap& sources, std::string_view name);

}  // namespace ampc::emit
