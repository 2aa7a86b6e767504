// R12, R28: of two scopes that hold at a node, the one within the other decides. Where neither is, and they set
// something differently, no order of statements may decide.
#include <fmt/format.h>

#include "ampc/diag/model_codes.h"
#include "ampc/passes/passes.h"

namespace ampc::passes {

void report_scope_conflicts(const PassContext& c) {
  for (const ScopeConflict& conflict : c.rules.conflicts()) {
    const auto& scopes = c.rules.rules().scopes;
    c.diagnostics
        .error(codes::kScopeConflict, fmt::format("two scopes that hold at {} set {} differently",
                                                  c.model.describe(conflict.node), conflict.what))
        .at(scopes[conflict.first].span)
        .also(scopes[conflict.second].span, "and this one")
        .fix("write the narrower one inside the other: what stands within decides");
  }
}

}  // namespace ampc::passes
