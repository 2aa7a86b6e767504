// What the open files mean: each with what it imports, as `ampc check` reads it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ampc/diag/diagnostic.h"
#include "ampc/lang/names.h"
#include "ampc/lang/program.h"
#include "ampc/lang/rule_file.h"
#include "ampc/lsp/documents.h"

namespace ampc::lsp {

/// Diagnostics of one root.
struct Checked {
  SourceMap sources;
  Diagnostics diagnostics;
  std::set<std::string> files;  // identities of all that were read
};

/// The statements of a root and of what it imports, and what their names stand for. Faults are not told here.
struct Meaning {
  SourceMap sources;
  lang::Program program;
  std::shared_ptr<const Operators> operators;
  std::unique_ptr<const lang::Names> names;  // its questions are about names that exist: it would report others

  /// The unit of a document that was just read: nullptr where it could not be.
  const lang::Unit* root() const { return program.units.empty() ? nullptr : program.units.data(); }

 private:
  friend class Workspace;
  Diagnostics ignored_;
};

class Workspace {
 public:
  /// `options` and `documents` outlive it. While it lives, rule files that are open are read from there.
  Workspace(const lang::CompileOptions& options, const Documents& documents);

  /// A document was opened, changed or closed, or a file on the disk changed: roots that read it are out of date.
  void touch(const std::string& path);
  void touch_all();
  void forget(const Document& document);

  /// Roots that are out of date.
  bool dirty() const;
  /// Checks one root that is out of date.
  void check_one();
  /// Checks all of them.
  void check_all();
  /// By the root's URI; null where it is being checked for the first time.
  const std::map<std::string, std::unique_ptr<Checked>>& checked() const { return checked_; }

  /// Of a document that is open, as it is now.
  const Meaning& meaning(const Document& document);

 private:
  const lang::CompileOptions& options_;
  const Documents& documents_;
  lang::UnsavedFiles unsaved_;
  std::map<std::string, std::unique_ptr<Checked>> checked_;
  std::set<std::string> dirty_;  // URIs
  std::map<std::string, std::unique_ptr<Meaning>> meanings_;
};

}  // namespace ampc::lsp
