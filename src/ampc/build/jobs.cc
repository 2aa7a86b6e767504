#include "ampc/build/jobs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "ampc/build/globs.h"
#include "ampc/build/mentions.h"
#include "ampc/diag/build_codes.h"
#include "ampc/diag/suggest.h"

namespace ampc::build {
namespace {

namespace fs = std::filesystem;

/// A rule file of the manifest's folder, else one that ships.
std::string find_rules(const Text& file, const std::string& installed, Diagnostics& diagnostics) {
  std::error_code ignored;
  if (file.text.empty()) return {};  // told already
  if (fs::exists(file.text, ignored)) return fs::path(file.text).lexically_normal().string();
  const fs::path shipped = fs::path(installed) / file.text;
  if (!installed.empty() && fs::exists(shipped, ignored)) return shipped.lexically_normal().string();
  auto& d = diagnostics.error(codes::kManifest, fmt::format("no rule file '{}' is found", file.text)).at(file.span);
  std::vector<std::string> others;
  const fs::path folder = fs::path(file.text).parent_path();
  for (const fs::path& root : {fs::path("."), fs::path(installed)}) {
    for (fs::directory_iterator it(root / folder, ignored), end; !ignored && it != end; it.increment(ignored)) {
      if (it->path().extension() == ".amp") others.push_back((folder / it->path().filename()).string());
    }
  }
  std::sort(others.begin(), others.end());
  const std::string near = did_you_mean(file.text, others);
  d.fix(near.empty() ? "files are looked for from the manifest's folder, and among the rules that come with ampc"
                     : near);
  return {};
}

/// What overrides leave of the manifest for one model.
struct Wanted {
  std::vector<std::string> dtypes, targets;
  std::optional<std::vector<std::string>> rules;
  Settings settings;
  std::string skip;
};

class Maker {
 public:
  Maker(const Manifest& manifest, const std::string& installed, Diagnostics& diagnostics) : m_(manifest) {
    for (const RuleSource& r : m_.rules) rule_paths_.push_back(find_rules(r.file, installed, diagnostics));
    models_ = find_models(m_, diagnostics);
    for (const Override& o : m_.overrides) {
      overrides_.emplace_back(o.models, diagnostics);
      if (!models_.empty()) overrides_.back().report_idle(models_, diagnostics);
      several_targets_ = several_targets_ || (o.targets && o.targets != m_.targets);
    }
    several_targets_ = several_targets_ || m_.targets.size() > 1;
  }

  void run() {
    for (const std::string& model : models_) {
      const Wanted wanted = wanted_of(model);
      for (std::size_t r = 0; r < m_.rules.size(); ++r) {
        if (wanted.rules &&
            std::find(wanted.rules->begin(), wanted.rules->end(), m_.rules[r].name) == wanted.rules->end())
          continue;
        for (const std::string& dtype : wanted.dtypes) {
          if (wanted.targets.empty()) add(model, r, dtype, {}, wanted);
          for (const std::string& target : wanted.targets) add(model, r, dtype, target, wanted);
        }
      }
    }
  }

  std::vector<Job> jobs_;
  std::vector<std::string> rule_paths_;  // by rule set; empty where none is found

 private:
  Wanted wanted_of(const std::string& model) const {
    Wanted w{m_.dtypes, m_.targets, std::nullopt, {}, {}};
    for (std::size_t i = 0; i < overrides_.size(); ++i) {
      if (!overrides_[i].matches(model)) continue;
      const Override& o = m_.overrides[i];
      if (o.dtypes) w.dtypes = *o.dtypes;
      if (o.targets) w.targets = *o.targets;
      if (o.rules) w.rules = o.rules;
      if (!o.skip.empty()) w.skip = o.skip;
      for (const auto& [key, args] : o.settings) w.settings[key] = args;
    }
    return w;
  }

  void add(const std::string& model, std::size_t r, const std::string& dtype, const std::string& target,
           const Wanted& wanted) {
    Job job;
    job.dtype = dtype;
    job.model = (fs::path(m_.root.text) / model).lexically_normal().string();
    job.rules = rule_paths_[r];
    job.import_dirs = m_.import_dirs;
    Settings settings = m_.settings;  // the nearer one wins: manifest, rule set, override
    for (const auto* more : {&m_.rules[r].settings, &wanted.settings}) {
      for (const auto& [key, args] : *more) settings[key] = args;
    }
    job.options = {"--dtype", dtype};
    fs::path folder = fs::path(m_.out) / dtype;
    job.label = model + ' ' + dtype;
    if (m_.rules.size() > 1) {
      folder /= m_.rules[r].name;
      job.label += ' ' + m_.rules[r].name;
    }
    if (!target.empty()) {
      job.options.insert(job.options.end(), {"--target", target});
      if (several_targets_) {
        folder /= target;
        job.label += ' ' + target;
      }
    }
    for (const auto& [key, args] : settings) job.options.insert(job.options.end(), args.begin(), args.end());
    job.external_data = settings.contains("external_data") && !settings.at("external_data").empty();
    job.output = (folder / model).lexically_normal().string();
    job.skip = wanted.skip;
    for (const SkipIf& s : m_.skip_if) {
      if (s.dtype.empty() || s.dtype == dtype) job.skip_if.push_back(s);
    }
    jobs_.push_back(std::move(job));
  }

  const Manifest& m_;
  std::vector<std::string> models_;
  std::vector<Globs> overrides_;
  bool several_targets_ = false;
};

}  // namespace

std::vector<Job> make_jobs(const Manifest& manifest, const std::string& installed, Diagnostics& diagnostics) {
  Maker maker(manifest, installed, diagnostics);
  check_mentions(manifest, maker.rule_paths_, installed, diagnostics);
  if (diagnostics.failed()) return {};
  maker.run();
  std::set<std::string> outputs;
  for (const Job& job : maker.jobs_) {
    if (outputs.insert(job.output).second) continue;
    diagnostics.error(codes::kManifest, fmt::format("two models would be written to '{}'", job.output))
        .fix("a folder of models is called like a target: rename one");
    return {};
  }
  return std::move(maker.jobs_);
}

}  // namespace ampc::build
