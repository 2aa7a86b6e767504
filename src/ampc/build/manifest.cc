#include "ampc/build/manifest.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "ampc/build/yaml_reader.h"
#include "ampc/diag/suggest.h"
#include "ampc/model/schemas.h"

namespace ampc::build {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kDtypes = {"fp16", "bf16"};
const std::vector<std::string> kRewrites = {"creators", "moved", "redundant"};

bool leads_out(const Text& glob) {
  const fs::path path(glob.text);
  return path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
}

class Parser {
 public:
  Parser(FileId file, const SourceMap& sources, Diagnostics& diagnostics)
      : reader_(file, sources, diagnostics), whole_{file, 0, 1} {}

  /// False where there is no manifest to speak of.
  bool run() {
    const auto document = reader_.document();
    if (!document) return false;
    if (!document->IsMap()) {
      reader_.error(reader_.span(*document), "a manifest is a mapping, lines of `key: value`")
          .fix("say at least `models`, `rules` and `out`; README.md has an example");
      return false;
    }
    std::optional<YAML::Node> overridden;
    reader_.mapping(
        *document, "a manifest",
        {{"root", [&](const auto& n) { m_.root = reader_.scalar(n, "root", "root: models"); }},
         {"out",
          [&](const auto& n) {
            seen_.insert("out");
            m_.out = reader_.scalar(n, "out", "out: build/models").text;
          }},
         {"models",
          [&](const auto& n) {
            seen_.insert("models");
            m_.models = globs(n, "models");
          }},
         {"exclude", [&](const auto& n) { m_.exclude = globs(n, "exclude"); }},
         {"rules",
          [&](const auto& n) {
            seen_.insert("rules");
            rules(n);
          }},
         {"dtypes",
          [&](const auto& n) { m_.dtypes = reader_.words(n, "a data type", kDtypes, "dtypes: [fp16, bf16]"); }},
         {"targets", [&](const auto& n) { m_.targets = targets(n); }},
         {"import_dirs",
          [&](const auto& n) { m_.import_dirs = reader_.words(n, "a folder", {}, "import_dirs: [rules]"); }},
         {"options", [&](const auto& n) { m_.settings = settings(n); }},
         {"skip_if", [&](const auto& n) { skips(n); }},
         {"overrides", [&](const auto& n) { overridden.emplace(n); }}});
    if (overridden) overrides(*overridden);  // which name rule sets, wherever these stand
    need("models", "models: \"**/*.onnx\"");
    need("rules", "rules: default.amp");
    need("out", "out: build/models");
    if (m_.dtypes.empty()) m_.dtypes = {"fp16"};
    return true;
  }

  Manifest m_;

 private:
  void need(const std::string& key, std::string_view example) {
    if (!seen_.contains(key) && reader_.whole())
      reader_.error(whole_, fmt::format("the manifest says no {}", key)).fix(fmt::format("write {}", example));
  }

  std::vector<std::string> targets(const YAML::Node& node) {
    for (const Text& t : reader_.texts(node, "a target", "targets: [ort-cpu]")) {
      m_.mentions.push_back({Manifest::Mention::Kind::target, t, {}});
    }
    return reader_.words(node, "a target", {}, "targets: [ort-cpu]");
  }

  /// Globs stay below `root`: an output has the same path below `out`.
  std::vector<Text> globs(const YAML::Node& node, std::string_view what) {
    std::vector<Text> result = reader_.texts(node, what, fmt::format("{}: \"**/*.onnx\"", what));
    for (const Text& t : result) {
      if (leads_out(t)) {
        reader_.error(t.span, fmt::format("'{}' leads out of the folder that models are in", t.text))
            .fix("say `root:` with that folder, and name models from there");
      }
    }
    std::erase_if(result, leads_out);
    return result;
  }

  void rules(const YAML::Node& node) {
    if (node.IsMap()) {
      reader_.names(node, [&](const Text& name, const YAML::Node& value) {
        RuleSource source{name.text, {}, {}};
        if (value.IsMap()) {
          bool says_file = false;
          reader_.mapping(value, "a rule set",
                          {{"file",
                            [&](const auto& n) {
                              says_file = true;
                              source.file = reader_.scalar(n, "file", "file: team.amp");
                            }},
                           {"options", [&](const auto& n) { source.settings = settings(n, name.text); }}});
          if (!says_file)
            reader_.error(name.span, fmt::format("the rule set '{}' says no file", name.text))
                .fix("write file: team.amp");
        } else {
          source.file = reader_.scalar(value, "a rule file", fmt::format("{}: team.amp", name.text));
        }
        add(std::move(source), name.span);
      });
      return;
    }
    for (const Text& t : reader_.texts(node, "a rule file", "rules: team.amp")) {
      add({fs::path(t.text).stem().string(), t, {}}, t.span);
    }
  }

  void add(RuleSource source, const Span& span) {
    const std::string& name = source.name;
    const bool twice =
        std::any_of(m_.rules.begin(), m_.rules.end(), [&](const RuleSource& r) { return r.name == name; });
    if (twice) {
      reader_.error(span, fmt::format("two rule sets are called '{}'", name))
          .fix("give them names: rules: {first: a/team.amp, second: b/team.amp}");
    } else if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
      reader_.error(span, fmt::format("'{}' cannot name a rule set: outputs are in a folder of that name", name))
          .fix("give it a name without '/': rules: {team: a/team.amp}");
    } else {
      m_.rules.push_back(std::move(source));
    }
  }

  /// `rules` is the rule set that they are of; empty for all.
  Settings settings(const YAML::Node& node, const std::string& rules = {}) {
    Settings s;
    const auto choice = [&](const std::string& key, const std::vector<std::string>& words) {
      return [this, &s, key, words](const YAML::Node& n) {
        if (const std::string w = reader_.word(n, key, words, fmt::format("{}: {}", key, words.back())); !w.empty())
          s[key] = {"--" + key, w};
      };
    };
    const auto many = [&](const std::string& key, const std::string& option) {
      return [this, &s, key, option](const YAML::Node& n) {
        auto& args = s[key];
        for (const std::string& w : reader_.words(n, key, kRewrites, fmt::format("{}: [moved]", key)))
          args.insert(args.end(), {option, w});
      };
    };
    reader_.mapping(node, "options",
                    {{"level",
                      [&](const auto& n) {
                        const Text t = reader_.scalar(n, "level", "level: O1");
                        if (t.text.empty()) return;
                        s["level"] = {"--level=" + t.text};
                        m_.mentions.push_back({Manifest::Mention::Kind::level, t, rules});
                      }},
                     {"promote",
                      [&](const auto& n) {
                        if (const auto on = reader_.boolean(n, "promote"))
                          s["promote"] = {*on ? "--promote" : "--no-promote"};
                      }},
                     {"gray", choice("gray", {"local", "cut"})},
                     {"io", choice("io", {"keep", "low"})},
                     {"functions", choice("functions", {"keep", "inline"})},
                     {"rewrite", many("rewrite", "--rewrite")},
                     {"no_rewrite", many("no_rewrite", "--no-rewrite")},
                     {"opset",
                      [&](const auto& n) {
                        if (const auto t = reader_.number(n, "opset", 1, 1000, 17); !t.empty())
                          s["opset"] = {"--opset", t};
                      }},
                     {"external_data",
                      [&](const auto& n) {
                        const auto on = reader_.boolean(n, "external_data");
                        if (on)
                          s["external_data"] =
                              *on ? std::vector<std::string>{"--external-data"} : std::vector<std::string>{};
                      }},
                     {"threshold", [&](const auto& n) {
                        if (const auto t = reader_.number(n, "threshold", 0, std::uint64_t{1} << 40U, 4096); !t.empty())
                          s["threshold"] = {"--threshold", t};
                      }}});
    return s;
  }

  template <typename Each>
  void list(const YAML::Node& node, std::string_view what, std::string_view example, const Each& each) {
    if (!node.IsSequence()) {
      reader_.error(reader_.place(node), fmt::format("{} is a list, each entry with a dash in front", what))
          .fix(fmt::format("write below it, indented: - {}", example));
      return;
    }
    for (const auto& item : node) each(item);
  }

  void skips(const YAML::Node& node) {
    list(node, "skip_if", "operator: com.acme::Route", [&](const YAML::Node& item) {
      SkipIf skip;
      bool says_operator = false;
      if (!item.IsMap()) return not_a_mapping(item, "an entry of skip_if", "operator: com.acme::Route");
      reader_.mapping(
          item, "an entry of skip_if",
          {{"operator",
            [&](const auto& n) {
              says_operator = true;
              skip.op = op(reader_.scalar(n, "operator", "operator: com.acme::Route"));
            }},
           {"dtype", [&](const auto& n) { skip.dtype = reader_.word(n, "dtype", kDtypes, "dtype: bf16"); }},
           {"reason", [&](const auto& n) { skip.reason = reader_.scalar(n, "reason", "reason: no kernel").text; }}});
      if (!says_operator)
        reader_.error(reader_.span(item), "an entry of skip_if says no operator")
            .fix("write operator: com.acme::Route");
      m_.skip_if.push_back(std::move(skip));
    });
  }

  void overrides(const YAML::Node& node) {
    list(node, "overrides", "{models: big/*.onnx, dtypes: [bf16]}", [&](const YAML::Node& item) {
      Override o;
      bool says_models = false;
      if (!item.IsMap()) return not_a_mapping(item, "an entry of overrides", "models: big/*.onnx");
      std::vector<std::string> known;
      for (const RuleSource& r : m_.rules) known.push_back(r.name);
      reader_.mapping(
          item, "an entry of overrides",
          {{"models",
            [&](const auto& n) {
              says_models = true;
              o.models = globs(n, "models");
            }},
           {"dtypes",
            [&](const auto& n) { o.dtypes = reader_.words(n, "a data type", kDtypes, "dtypes: [fp16, bf16]"); }},
           {"targets", [&](const auto& n) { o.targets = targets(n); }},
           {"rules", [&](const auto& n) { o.rules = reader_.words(n, "a rule set here", known, "rules: [team]"); }},
           {"options", [&](const auto& n) { o.settings = settings(n); }},
           {"skip", [&](const auto& n) { o.skip = reader_.scalar(n, "skip, the reason,", "skip: retired").text; }}});
      if (!says_models)
        reader_.error(reader_.span(item), "an entry of overrides says no models").fix("write models: big/*.onnx");
      m_.overrides.push_back(std::move(o));
    });
  }

  void not_a_mapping(const YAML::Node& node, std::string_view what, std::string_view example) {
    reader_.error(reader_.span(node), fmt::format("{} is a mapping, lines of `key: value`", what))
        .fix(fmt::format("write - {}", example));
  }

  /// An operator of onnx's own domain is one that its schemas know; of others, models alone can tell.
  std::string op(const Text& text) {
    std::string name = text.text;
    if (name.starts_with("ai.onnx::")) name.erase(0, std::string_view("ai.onnx::").size());
    if (name.empty() || name.find("::") != std::string::npos || !Schemas::get().versions("", name).empty()) return name;
    auto& d = reader_.error(text.span, fmt::format("ONNX has no operator '{}'", name));
    std::vector<std::string_view> known = Schemas::get().operators("");
    const std::string near = did_you_mean(name, known);
    d.fix(near.empty() ? "write one of another domain with its domain, com.acme::Route" : near);
    return name;
  }

  YamlReader reader_;
  Span whole_;
  std::set<std::string> seen_;  // of the keys that have to be there
};

}  // namespace

std::optional<Manifest> parse_manifest(FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  Parser parser(file, sources, diagnostics);
  if (!parser.run()) return std::nullopt;
  return std::move(parser.m_);
}

}  // namespace ampc::build
