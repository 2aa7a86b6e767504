// Carrying out what diagnostics suggest: `ampc check --fix`.
#pragma once

#include <cstddef>
#include <functional>
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

/// The edits of a diagnostic as they are carried out in `text`: a statement that goes takes its line with it.
std::vector<Edit> edits_of(const Diagnostic& diagnostic, std::string_view text);

/// The text of `file` after the edits of these diagnostics, in their order. A diagnostic that edits another file, or
/// where an earlier one does, is left alone.
Mended mend(std::string_view text, FileId file, const std::vector<const Diagnostic*>& diagnostics);

/// `round` checks a text and mends it, until nothing is left to mend: what is mended can show what was hidden.
Mended mend_in_rounds(std::string text, const std::function<Mended(const std::string& text)>& round);

}  // namespace ampc
