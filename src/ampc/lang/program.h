// The rule files of one run: the root and what it imports, parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ampc/lang/ast.h"
#include "ampc/lang/rule_set.h"

namespace ampc::lang {

struct Unit {
  std::string path;  // as it was reached: the importing file's folder and the spelling of the import
  ast::File file;
  std::vector<std::size_t> imports;  // units
  std::vector<Span> import_places;   // of these, where it says so; not valid where the command line does
};

struct Program {
  std::vector<Unit> units;  // the root first
  /// reaches[a][b]: a imports b, at once or through others. No unit reaches itself.
  std::vector<std::vector<bool>> reaches;
  /// Units with the imported ones before those that import them.
  std::vector<std::size_t> imports_first;
  /// An import failed, which was reported: what nobody defines may stand there.
  bool incomplete = false;
  const SourceMap* sources = nullptr;
};

/// Reads and parses the root and, once each, every file that it imports. What cannot be read is reported and left out.
Program load(const std::string& path, const CompileOptions& options, SourceMap& sources, Diagnostics& diagnostics);

/// Reads and parses one file, its imports left alone; nothing where it cannot be read.
std::optional<ast::File> load_one(const std::string& path, SourceMap& sources, Diagnostics& diagnostics);

/// Places where an import of this text may lie, in the order in which they are tried.
std::vector<std::string> import_candidates(const std::string& importing_file, const std::string& text,
                                           const CompileOptions& options);

}  // namespace ampc::lang
