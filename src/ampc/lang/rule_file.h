// Reading a rule file from disk, and telling what it is where it is none.
#pragma once

#include <string>

#include "ampc/diag/diagnostic.h"

namespace ampc::lang {

struct RuleFile {
  bool ok = false;
  std::string text;  // without a byte order mark
  // Where not ok:
  std::string_view code;
  std::string fault;  // "is a folder"
  std::string help;
};

RuleFile read_rule_file(const std::string& path);

}  // namespace ampc::lang
