#include "ampc/build/globs.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "ampc/diag/build_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/rule_set.h"

namespace ampc::build {
namespace {

namespace fs = std::filesystem;

/// Everything below `root` but what is hidden, and but `out`.
std::vector<std::string> files_below(const std::string& root, const std::string& out) {
  std::vector<std::string> found;
  std::error_code error;
  const fs::path outputs = fs::weakly_canonical(out, error);
  for (fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const bool folder = it->is_directory(ignored) && !it->is_symlink(ignored);
    if (it->path().filename().string().starts_with(".") ||
        (folder && fs::weakly_canonical(it->path(), ignored) == outputs)) {
      it.disable_recursion_pending();
      continue;
    }
    if (it->is_regular_file(ignored)) found.push_back(it->path().lexically_relative(root).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Globs::Globs(const std::vector<Text>& globs, Diagnostics& diagnostics) {
  for (const Text& text : globs) {
    // A file may be called as it likes: what stands there to the letter is meant.
    const std::string plain = fs::path(text.text).lexically_normal().string();
    std::string fault;
    const auto pattern = lang::NamePattern::glob(plain, &fault);
    if (!pattern) {
      diagnostics.error(codes::kManifest, fmt::format("'{}' is no pattern: {}", text.text, fault))
          .at(text.span)
          .fix("write a name, or a pattern of `*`, `**`, `?`, `{a,b}` and `{0..3}`");
      continue;
    }
    globs_.push_back({text, [=](const std::string& name) { return name == plain || pattern->matches(name); }});
  }
}

bool Globs::matches(const std::string& name) const {
  return std::any_of(globs_.begin(), globs_.end(), [&](const Glob& g) { return g.matches(name); });
}

void Globs::report_idle(const std::vector<std::string>& names, Diagnostics& diagnostics) const {
  for (const Glob& g : globs_) {
    if (std::any_of(names.begin(), names.end(), g.matches)) continue;
    auto& d = diagnostics.error(codes::kManifest, fmt::format("no model matches '{}'", g.text.text)).at(g.text.span);
    const std::string near = did_you_mean(g.text.text, names);
    d.fix(near.empty() ? "patterns start at `root`; `*` stays within a folder, `**` does not" : near);
  }
}

std::vector<std::string> find_models(const Manifest& manifest, Diagnostics& diagnostics) {
  const Globs wanted(manifest.models, diagnostics), unwanted(manifest.exclude, diagnostics);
  std::error_code ignored;
  if (manifest.root.text.empty()) return {};  // told already
  if (!fs::is_directory(manifest.root.text, ignored)) {
    diagnostics.error(codes::kManifest, fmt::format("there is no folder '{}'", manifest.root.text))
        .at(manifest.root.span)
        .fix("`root` is the folder of the models, as it is seen from the manifest's");
    return {};
  }
  std::vector<std::string> names = files_below(manifest.root.text, manifest.out);
  wanted.report_idle(names, diagnostics);
  unwanted.report_idle(names, diagnostics);
  std::erase_if(names, [&](const std::string& name) { return !wanted.matches(name); });
  const bool some = !names.empty();
  std::erase_if(names, [&](const std::string& name) { return unwanted.matches(name); });
  if (some && names.empty()) {
    diagnostics.error(codes::kManifest, "`exclude` leaves none of the models")
        .at(manifest.exclude.front().span)
        .fix("leave a pattern out, or name less by it");
  }
  return names;
}

}  // namespace ampc::build
