#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <tbb/parallel_for.h>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/program.h"
#include "ampc/lang/rule_file.h"

namespace ampc::lang {

namespace {

namespace fs = std::filesystem;

// Two spellings of one file are one file.
std::string identity(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? fs::path(path).lexically_normal().string() : canonical.string();
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

class Loader {
 public:
  Loader(const CompileOptions& options, SourceMap& sources, Diagnostics& diagnostics)
      : options_(options), sources_(sources), diagnostics_(diagnostics) {
    program_.sources = &sources;
  }

  Program run(const std::string& root) {
    RuleFile file = options_.root_text ? rule_text(*options_.root_text) : read_rule_file(root);
    if (!file.ok) {
      diagnostics_.error(file.code, "the rule file " + file.fault).in(root).fix(file.help);
      return std::move(program_);
    }
    add(root, std::move(file.text));
    while (follow_deferred()) {
    }
    close();
    return std::move(program_);
  }

 private:
  std::size_t add(const std::string& path, std::string text) {
    const FileId id = sources_.add(path, std::move(text));
    return add(path, ast::parse(id, sources_, diagnostics_));
  }

  std::size_t add(const std::string& path, ast::File file) {
    const std::size_t index = program_.units.size();
    known_.emplace(identity(path), index);
    program_.units.push_back({path, std::move(file), {}, {}});
    open_.push_back(index);
    read_ahead(program_.units[index]);
    // By index throughout: imports add units.
    for (std::size_t i = 0; i < program_.units[index].file.statements.size(); ++i) {
      const auto* import = std::get_if<ast::Import>(&program_.units[index].file.statements[i].node);
      if (import == nullptr) continue;
      const ast::Word target = import->path;
      if (!import->domains.empty()) {
        Deferred d{index, target, {}, open_};
        for (const ast::Word& domain : import->domains) d.domains.push_back(domain.text);
        deferred_.push_back(std::move(d));
      } else if (const auto unit = follow(path, target)) {
        imports(index, *unit, target.span);
      }
    }
    for (std::size_t i = 0; index == 0 && i < options_.more_rules.size(); ++i) {
      if (const auto unit = also(options_.more_rules[i])) imports(index, *unit, {});
    }
    open_.pop_back();
    return index;
  }

  /// Parses what a file imports, all at once; whether and in which order it comes into the program does not depend on
  /// that.
  void read_ahead(const Unit& unit) {
    std::vector<Ahead*> list;
    for (const ast::Statement& s : unit.file.statements) {
      const auto* import = std::get_if<ast::Import>(&s.node);
      if (import == nullptr || !import->domains.empty() || import->path.text.empty()) continue;
      for (const std::string& path : import_candidates(unit.path, import->path.text, options_)) {
        if (!exists(path)) continue;
        const std::string who = identity(path);
        if (known_.contains(who) || ahead_.contains(who)) break;
        RuleFile file = read_rule_file(path);
        if (!file.ok) break;  // told in its turn
        auto one = std::make_unique<Ahead>();
        one->path = path;
        one->file.id = sources_.add(path, std::move(file.text));
        list.push_back(one.get());
        ahead_.emplace(who, std::move(one));
        break;
      }
    }
    tbb::parallel_for(std::size_t{0}, list.size(), [&](std::size_t i) {
      list[i]->file = ast::parse(list[i]->file.id, sources_, list[i]->diagnostics);
    });
  }

  void imports(std::size_t unit, std::size_t imported, const Span& place) {
    program_.units[unit].imports.push_back(imported);
    program_.units[unit].import_places.push_back(place);
  }

  /// Imports the files that what was read so far asks for by a domain's name, then those that the model asks for. What
  /// the rules mean depends on the model no further than that: a rule that names the domain has its file.
  bool follow_deferred() {
    const auto named = [&](const Deferred& d) {
      return std::any_of(d.domains.begin(), d.domains.end(), [&](const std::string& domain) {
        return std::any_of(program_.units.begin(), program_.units.end(),
                           [&](const Unit& u) { return u.file.domains.contains(domain); });
      });
    };
    auto next = std::find_if(deferred_.begin(), deferred_.end(), named);
    if (next == deferred_.end() && !deferred_.empty()) {
      if (!model_domains_ && options_.model_domains) model_domains_ = options_.model_domains();
      next = std::find_if(deferred_.begin(), deferred_.end(), [&](const Deferred& d) {
        return !model_domains_ || std::any_of(d.domains.begin(), d.domains.end(), [&](const std::string& domain) {
          return model_domains_->contains(domain);
        });
      });
    }
    if (next == deferred_.end()) return false;
    const Deferred d = std::move(*next);
    deferred_.erase(next);
    open_ = d.open;
    if (const auto unit = follow(program_.units[d.unit].path, d.target)) imports(d.unit, *unit, d.target.span);
    open_.clear();
    return true;
  }

  std::optional<std::size_t> follow(const std::string& importing, const ast::Word& target) {
    if (target.text.empty()) {
      program_.incomplete = true;
      diagnostics_.error(codes::kNoSuchFile, "the name of the file to import is empty")
          .at(target.span)
          .fix("write import \"default.amp\"");
      return std::nullopt;
    }
    const std::vector<std::string> candidates = import_candidates(importing, target.text, options_);
    for (const std::string& path : candidates) {
      if (!exists(path)) continue;
      const std::string who = identity(path);
      if (const auto it = known_.find(who); it != known_.end()) {
        if (!is_open(it->second)) return it->second;
        program_.incomplete = true;
        report_cycle(it->second, target);
        return std::nullopt;
      }
      if (const auto it = ahead_.find(who); it != ahead_.end() && it->second->path == path) {
        diagnostics_.take(it->second->diagnostics);
        return add(path, std::move(it->second->file));
      }
      RuleFile file = read_rule_file(path);
      if (!file.ok) {
        program_.incomplete = true;
        if (unreadable_.insert(who).second) {
          diagnostics_.error(file.code, "'" + target.text + "' " + file.fault).at(target.span).fix(file.help);
        }
        return std::nullopt;
      }
      return add(path, std::move(file.text));
    }
    program_.incomplete = true;
    auto& d = diagnostics_.error(codes::kNoSuchFile, "no rule file '" + target.text + "' is found").at(target.span);
    for (const std::string& path : candidates) d.note("looked for " + path);
    const std::string help = near_miss(target.text, candidates);
    d.fix(help.empty()
              ? "files are looked for beside this one, in folders of -I, and among the rules that come with ampc"
              : help);
    return std::nullopt;
  }

  /// A file that the command line adds. One that the rules import, or are, is there already.
  std::optional<std::size_t> also(const std::string& path) {
    if (const auto it = known_.find(identity(path)); it != known_.end()) {
      return is_open(it->second) ? std::nullopt : std::optional(it->second);
    }
    RuleFile file = read_rule_file(path);
    if (file.ok) return add(path, std::move(file.text));
    program_.incomplete = true;
    diagnostics_.error(file.code, "the rule file " + file.fault).in(path).fix(file.help);
    return std::nullopt;
  }

  bool is_open(std::size_t unit) const { return std::find(open_.begin(), open_.end(), unit) != open_.end(); }

  void report_cycle(std::size_t unit, const ast::Word& target) {
    const auto begin = std::find(open_.begin(), open_.end(), unit);
    std::string chain;
    for (auto it = begin; it != open_.end(); ++it) chain += program_.units[*it].path + " -> ";
    chain += program_.units[unit].path;
    auto& d = diagnostics_
                  .error(codes::kImportCycle,
                         open_.end() - begin == 1 ? "the file imports itself" : "the imports go in a circle")
                  .at(target.span);
    d.note(chain);
    for (auto it = begin; it + 1 != open_.end(); ++it) {
      for (const ast::Statement& s : program_.units[*it].file.statements) {
        const auto* import = std::get_if<ast::Import>(&s.node);
        if (import != nullptr && leads_to(program_.units[*it].path, import->path.text, *(it + 1))) {
          d.also(import->path.span, "on the way");
          break;
        }
      }
    }
    d.fix(open_.end() - begin == 1 ? "leave the import out" : "move what both need into a file that imports neither");
  }

  bool leads_to(const std::string& importing, const std::string& text, std::size_t unit) const {
    for (const std::string& path : import_candidates(importing, text, options_)) {
      if (exists(path)) return identity(path) == identity(program_.units[unit].path);
    }
    return false;
  }

  static std::string near_miss(const std::string& text, const std::vector<std::string>& candidates) {
    if (text.find('\\') != std::string::npos) {
      std::string mended = text;
      std::replace(mended.begin(), mended.end(), '\\', '/');
      return "folders are separated by '/': import \"" + mended + "\"";
    }
    const auto named = [](const fs::path& folder, const std::string& name, bool file) {
      std::vector<std::string> names;
      std::error_code error;
      for (fs::directory_iterator it(folder.empty() ? "." : folder, error), end; !error && it != end;
           it.increment(error)) {
        std::error_code none;
        if (file ? it->path().extension() == ".amp" : it->is_directory(none))
          names.push_back(it->path().filename().string());
      }
      std::sort(names.begin(), names.end());
      if (std::find(names.begin(), names.end(), name) != names.end()) return std::optional(name);
      return nearest(name, names);
    };
    for (const std::string& candidate : candidates) {
      const fs::path path(candidate);
      const fs::path folder = path.parent_path();
      const std::string file = path.filename().string();
      if (const auto name = named(folder, file, true))
        return "did you mean '" + fs::path(text).replace_filename(*name).string() + "'?";
      const fs::path written(text);
      if (exists(folder.string()) || written.parent_path() != written.parent_path().filename()) continue;
      const auto near = named(folder.parent_path(), folder.filename().string(), false);
      const auto name = near ? named(folder.parent_path() / *near, file, true) : std::nullopt;
      if (name) return "did you mean '" + (fs::path(*near) / *name).string() + "'?";
    }
    return {};
  }

  void order(std::size_t unit, std::vector<bool>& done) {
    if (done[unit]) return;
    done[unit] = true;
    for (const std::size_t import : program_.units[unit].imports) order(import, done);
    program_.imports_first.push_back(unit);
  }

  // Who reaches whom. Units that are imported stand before those that import them in imports_first.
  void close() {
    const std::size_t n = program_.units.size();
    std::vector<bool> done(n, false);
    order(0, done);
    program_.reaches.assign(n, std::vector<bool>(n, false));
    for (const std::size_t unit : program_.imports_first) {
      std::vector<bool>& mine = program_.reaches[unit];
      for (const std::size_t import : program_.units[unit].imports) {
        mine[import] = true;
        for (std::size_t k = 0; k < n; ++k) mine[k] = mine[k] || program_.reaches[import][k];
      }
    }
  }

  /// A file that is parsed already.
  struct Ahead {
    std::string path;
    ast::File file;
    Diagnostics diagnostics;
  };

  /// `import "…" for …`, until a domain is met.
  struct Deferred {
    std::size_t unit;
    ast::Word target;
    std::vector<std::string> domains;
    std::vector<std::size_t> open;
  };

  const CompileOptions& options_;
  SourceMap& sources_;
  Diagnostics& diagnostics_;
  Program program_;
  std::vector<Deferred> deferred_;
  std::optional<std::set<std::string>> model_domains_;
  std::map<std::string, std::size_t> known_;
  std::map<std::string, std::unique_ptr<Ahead>> ahead_;
  std::set<std::string> unreadable_;
  std::vector<std::size_t> open_;  // the chain of imports that leads here
};

}  // namespace

std::vector<std::string> import_candidates(const std::string& importing_file, const std::string& text,
                                           const CompileOptions& options) {
  if (fs::path(text).is_absolute()) return {text};
  std::vector<fs::path> folders = {fs::path(importing_file).parent_path()};
  for (const std::string& dir : options.import_dirs) folders.emplace_back(dir);
  if (!options.installed_rules.empty()) folders.emplace_back(options.installed_rules);
  std::vector<std::string> result;
  for (const fs::path& folder : folders) {
    std::string path = (folder / text).lexically_normal().string();
    if (std::find(result.begin(), result.end(), path) == result.end()) result.push_back(std::move(path));
  }
  return result;
}

Program load(const std::string& path, const CompileOptions& options, SourceMap& sources, Diagnostics& diagnostics) {
  return Loader(options, sources, diagnostics).run(path);
}

std::optional<ast::File> load_one(const std::string& path, SourceMap& sources, Diagnostics& diagnostics) {
  RuleFile file = read_rule_file(path);
  if (!file.ok) {
    diagnostics.error(file.code, "the rule file " + file.fault).in(path).fix(file.help);
    return std::nullopt;
  }
  const FileId id = sources.add(path, std::move(file.text));
  return ast::parse(id, sources, diagnostics);
}

}  // namespace ampc::lang
