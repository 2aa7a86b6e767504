// Decisions as text: `--emit decisions` and `--explain`.
#pragma once

#include <iosfwd>
#include <string_view>

#include "ampc/diag/diagnostic.h"
#include "ampc/passes/plan.h"

namespace ampc::emit {

/// Every node with its decision and its reason, then casts, weights and changed attributes; a line each.
void print_decisions(std::ostream& out, const Model& m, const Plan& plan, const SourceMap& sources);

/// The decision of each node of that name, with operands and results; false where there is none.
bool explain_node(std::ostream& out, const Model& m, const Plan& plan, const SourceMap& sources, std::string_view name);

}  // namespace ampc::emit
