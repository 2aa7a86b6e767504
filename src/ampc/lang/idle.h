// Conditions that hold never, or always: contradictory by themselves, by a schema, or by what can be at all.
#pragma once

#include <string>

#include "ampc/lang/names.h"
#include "ampc/lang/rule_set.h"

namespace ampc::lang {

/// Warns at `place` where the condition comes to the same at every node of this operator.
void warn_if_idle(const Predicate& condition, const Target& target, const Span& place, Diagnostics& diagnostics);
/// The same of every weight.
void warn_if_idle(const WeightTest& condition, const Span& place, Diagnostics& diagnostics);

}  // namespace ampc::lang
