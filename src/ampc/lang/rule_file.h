// Reading a rule file from disk, and telling what it is where it is none.
#pragma once

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

}  // namespace ampc::lang
