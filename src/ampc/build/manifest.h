// The manifest of `ampc build`: which models are compiled by which rules into which types.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ampc/diag/diagnostic.h"

namespace ampc::build {

/// A text of the manifest, and where it stands.
struct Text {
  std::string text;
  Span span;
};

/// Options of `ampc RULES MODEL` by their names in the manifest, each with the arguments that it stands for.
using Settings = std::map<std::string, std::vector<std::string>>;

struct RuleSource {
  std::string name;  // a folder of outputs, where there are several
  Text file;
  Settings settings;
};

/// Models with this operator are not compiled into this type.
struct SkipIf {
  std::string op;     // "Softmax", "com.microsoft::Attention": to the letter
  std::string dtype;  // empty for every one
  std::string reason;
};

struct Override {
  std::vector<Text> models;  // globs
  std::optional<std::vector<std::string>> dtypes, targets, rules;
  Settings settings;
  std::string skip;  // a reason; empty for none
};

struct Manifest {
  // Models are found here, and keep their path from here; relative to the manifest. Empty where it is not known.
  Text root{".", {}};
  std::string out;
  std::vector<Text> models, exclude;  // globs
  std::vector<RuleSource> rules;
  std::vector<std::string> dtypes, targets;
  std::vector<std::string> import_dirs;
  Settings settings;
  std::vector<SkipIf> skip_if;
  std::vector<Override> overrides;

  /// A name in it that stands for something else; whether there is such a thing is to be found out.
  struct Mention {
    enum class Kind { target, level } kind = Kind::target;
    Text text;
    std::string rules;  // that it is of; empty for any
  };
  std::vector<Mention> mentions;
};

/// Reads `file`. Reports every fault of it; nothing where it is no mapping at all, else what there is of a manifest.
std::optional<Manifest> parse_manifest(FileId file, const SourceMap& sources, Diagnostics& diagnostics);

}  // namespace ampc::build
