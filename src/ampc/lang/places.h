// What diagnostics about several statements or files have in common: which statement a place is in, what to remove or
// to write there, and how a file came to be imported.
#pragma once

#include <cstddef>
#include <string>

#include "ampc/lang/program.h"

namespace ampc::lang {

/// The innermost statement that holds the place; nullptr where none does.
const ast::Statement* statement_at(const Program& program, const Span& place);

/// Edits for --fix. `item` is an operator or a pattern that a list names, or lies in a statement that has no list.
/// The item goes, with its comma, or the whole statement where nothing else is in it.
void edit_out(Diagnostic& d, const Program& program, const Span& item);
/// The word `override` goes; no edit where the statement names more than this.
void edit_override_out(Diagnostic& d, const Program& program, const Span& item);
/// The word `override` is put before the statement; no edit where that names more than this.
void edit_override_in(Diagnostic& d, const Program& program, const Span& item);

struct PlaceInUnit {
  Span span;
  std::size_t unit = 0;
};
/// Of what a file that is imported seals, and another one replaces or goes round.
Diagnostic& report_sealed(Diagnostics& diagnostics, const Program& program, const std::string& what,
                          const PlaceInUnit& at, const PlaceInUnit& sealed);

/// The unit whose file this is.
std::size_t unit_of(const Program& program, FileId file);
/// Notes which files import these two, up to the root: "lib.amp is imported by team.amp:3, and that by root.amp:1".
/// Nothing where both are one file.
void show_imports(Diagnostic& d, const Program& program, std::size_t a, std::size_t b);

}  // namespace ampc::lang
