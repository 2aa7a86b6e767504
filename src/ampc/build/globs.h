// The models that globs of a manifest mean.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ampc/build/manifest.h"

namespace ampc::build {

/// What a list of globs matches. A glob that is no glob is reported, and matches nothing.
class Globs {
 public:
  Globs(const std::vector<Text>& globs, Diagnostics& diagnostics);
  bool matches(const std::string& name) const;
  /// Reports those that match none of `names`.
  void report_idle(const std::vector<std::string>& names, Diagnostics& diagnostics) const;

 private:
  struct Glob {
    Text text;
    std::function<bool(const std::string&)> matches;
  };
  std::vector<Glob> globs_;
};

/// Files below `manifest.root` that its models mean, sorted, relative to it. Folders and files with a dot in front are
/// passed over, and so is `manifest.out`; links to folders are not followed. Reports globs that mean none.
std::vector<std::string> find_models(const Manifest& manifest, Diagnostics& diagnostics);

}  // namespace ampc::build
