// Carrying out what diagnostics suggest: `ampc check --fix`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/diag/diagnostic.h"

namespace ampc {

struct Mended {
  std::string text;
  std::size_t fixes = 0;    // diagnostics whose edits were carried out
  std::size_t refused = 0;  // those whose edits would have met another's: a second run may do them
};

/// The text of `file` after the edits of these diagnostics, in their order. A diagnostic that edits another file, or
/// where an earlier one does, is left alone. A statement that goes takes its line with it.
Mended mend(std::string_view text, FileId file, const std::vector<const Diagnostic*>& diagnostics);

}  // namespace ampc
