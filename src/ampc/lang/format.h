// `ampc fmt`: rule files in their canonical layout.
//
// A statement begins a line, in bodies indented by two. What does not fit into 120 columns goes on in the next line,
// indented by two more; `where` then begins a line. A body that was written on one line stays there where it fits and
// holds no comment. Comments stay at what they stand at, those behind consecutive lines in one column. Of blank lines
// in a row one stays, at the ends of files and bodies none.
#pragma once

#include <optional>
#include <string>

#include "ampc/diag/diagnostic.h"

namespace ampc::lang {

inline constexpr std::size_t kFormatWidth = 120;  // columns, a code point each

/// The text of a file that is in `sources`, laid out; nothing where its syntax is wrong, which is reported. Throws
/// std::logic_error where the result would not read as the same statements and comments.
std::optional<std::string> format(FileId file, SourceMap& sources, Diagnostics& diagnostics);

}  // namespace ampc::lang
