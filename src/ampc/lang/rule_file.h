// Reading a rule file from disk, and telling what it is where it is none.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ampc/diag/diagnostic.h"

namespace ampc::lang {

struct RuleFile {
  bool ok = false;
  std::string text;              // without a byte order mark
  bool byte_order_mark = false;  // there was one
  // Where not ok:
  std::string_view code;
  std::string fault;  // "is a folder"
  std::string help;
};

RuleFile read_rule_file(const std::string& path);
/// The same of bytes that are read already.
RuleFile rule_text(std::string bytes);

/// Texts that stand in for what the disk has, for as long as this lives: files that an editor has not saved. One at a
/// time in a program; not to be made or destroyed while rule files are read.
class UnsavedFiles {
 public:
  /// Gives the text that stands in for a file, nothing where the disk's is meant. Called from any thread.
  using Find = std::function<std::optional<std::string>(const std::string& path)>;

  explicit UnsavedFiles(Find find);
  ~UnsavedFiles();
  UnsavedFiles(const UnsavedFiles&) = delete;
  UnsavedFiles& operator=(const UnsavedFiles&) = delete;

 private:
  Find find_;
};

}  // namespace ampc::lang
