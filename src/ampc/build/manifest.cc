#include "ampc/build/manifest.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "ampc/build/yaml_reader.h"
#include "ampc/diag/suggest.h"

namespace ampc::build {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kDtypes = {"fp16", "bf16"};
const std::vector<std::string> kRewrites = {"creators", "moved", "redundant"};

class Parser {
 public:
  Parser(FileId file, const SourceMap& sources, Diagnostics& diagnostics)
      : reader_(file, sources, diagnostics), whole_{file, 0, 1} {}

  void run() {
    const auto document = reader_.document();
    if (!document) return;
    std::optional<YAML::Node> overridden;
    reader_.mapping(*document, "a manifest",
                    {{"root", [&](const auto& n) { m_.root = reader_.scalar(n, "root").text; }},
                     {"out", [&](const auto& n) { m_.out = reader_.scalar(n, "out").text; }},
                     {"models", [&](const auto& n) { m_.models = globs(n, "models"); }},
                     {"exclude", [&](const auto& n) { m_.exclude = globs(n, "exclude"); }},
                     {"rules", [&](const auto& n) { rules(n); }},
                     {"dtypes", [&](const auto& n) { m_.dtypes = reader_.words(n, "a data type", kDtypes); }},
                     {"targets", [&](const auto& n) { m_.targets = reader_.words(n, "a target", {}); }},
                     {"import_dirs", [&](const auto& n) { m_.import_dirs = reader_.words(n, "a folder", {}); }},
                     {"options", [&](const auto& n) { m_.settings = settings(n); }},
                     {"skip_if", [&](const auto& n) { skips(n); }},
                     {"overrides", [&](const auto& n) { overridden.emplace(n); }}});
    if (overridden) overrides(*overridden);  // which name rule sets, wherever these stand
    need(m_.models.empty(), "models", "models: \"**/*.onnx\"");
    need(m_.rules.empty(), "rules", "rules: default.amp");
    need(m_.out.empty(), "out", "out: build/models");
    if (m_.dtypes.empty()) m_.dtypes = {"fp16"};
  }

  Manifest m_;

 private:
  void need(bool missing, std::string_view key, std::string_view example) {
    if (missing)
      reader_.error(whole_, fmt::format("the manifest says no {}", key)).fix(fmt::format("write {}", example));
  }

  /// Globs stay below `root`: an output has the same path below `out`.
  std::vector<Text> globs(const YAML::Node& node, std::string_view what) {
    std::vector<Text> result = reader_.texts(node, what);
    for (const Text& t : result) {
      const fs::path path(t.text);
      const bool leaves = path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
      if (leaves)
        reader_.error(t.span, fmt::format("'{}' leads out of the folder that models are in", t.text))
            .fix("say `root:` with that folder, and name models from there");
    }
    return result;
  }

  void rules(const YAML::Node& node) {
    if (node.IsMap()) {
      reader_.names(node, [&](const Text& name, const YAML::Node& value) {
        RuleSource source{name.text, {}, {}};
        if (value.IsMap()) {
          reader_.mapping(value, "a rule set",
                          {{"file", [&](const auto& n) { source.file = reader_.scalar(n, "file"); }},
                           {"options", [&](const auto& n) { source.settings = settings(n); }}});
          if (source.file.text.empty())
            reader_.error(name.span, fmt::format("the rule set '{}' says no file", name.text))
                .fix("write file: team.amp");
        } else {
          source.file = reader_.scalar(value, "a rule file");
        }
        add(std::move(source), name.span);
      });
      return;
    }
    for (const Text& t : reader_.texts(node, "a rule file")) {
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
      reader_.error(span, fmt::format("'{}' cannot name a rule set: outputs are in a folder of that name", name));
    } else {
      m_.rules.push_back(std::move(source));
    }
  }

  Settings settings(const YAML::Node& node) {
    Settings s;
    const auto choice = [&](const std::string& key, const std::vector<std::string>& words) {
      return [this, &s, key, words](const YAML::Node& n) {
        if (const std::string w = reader_.word(n, key, words); !w.empty()) s[key] = {"--" + key, w};
      };
    };
    const auto many = [&](const std::string& key, const std::string& option) {
      return [this, &s, key, option](const YAML::Node& n) {
        auto& args = s[key];
        for (const std::string& w : reader_.words(n, key, kRewrites)) args.insert(args.end(), {option, w});
      };
    };
    reader_.mapping(node, "options",
                    {{"level",
                      [&](const auto& n) {
                        if (const Text t = reader_.scalar(n, "level"); !t.text.empty())
                          s["level"] = {"--level=" + t.text};
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
                        if (const auto t = reader_.number(n, "opset", 1, 1000); !t.empty()) s["opset"] = {"--opset", t};
                      }},
                     {"external_data",
                      [&](const auto& n) {
                        const auto on = reader_.boolean(n, "external_data");
                        if (on)
                          s["external_data"] =
                              *on ? std::vector<std::string>{"--external-data"} : std::vector<std::string>{};
                      }},
                     {"threshold", [&](const auto& n) {
                        if (const auto t = reader_.number(n, "threshold", 0, std::uint64_t{1} << 40U); !t.empty())
                          s["threshold"] = {"--threshold", t};
                      }}});
    return s;
  }

  template <typename Each>
  void list(const YAML::Node& node, std::string_view what, const Each& each) {
    if (!node.IsSequence()) {
      reader_.error(reader_.span(node), fmt::format("{} is a list, each entry with a dash in front", what));
      return;
    }
    for (const auto& item : node) each(item);
  }

  void skips(const YAML::Node& node) {
    list(node, "skip_if", [&](const YAML::Node& item) {
      SkipIf skip;
      reader_.mapping(item, "an entry of skip_if",
                      {{"operator", [&](const auto& n) { skip.op = reader_.scalar(n, "operator").text; }},
                       {"dtype", [&](const auto& n) { skip.dtype = reader_.word(n, "dtype", kDtypes); }},
                       {"reason", [&](const auto& n) { skip.reason = reader_.scalar(n, "reason").text; }}});
      if (skip.op.empty())
        reader_.error(reader_.span(item), "an entry of skip_if says no operator")
            .fix("write operator: com.acme::Route");
      if (skip.op.starts_with("ai.onnx::")) skip.op.erase(0, std::string_view("ai.onnx::").size());
      m_.skip_if.push_back(std::move(skip));
    });
  }

  void overrides(const YAML::Node& node) {
    list(node, "overrides", [&](const YAML::Node& item) {
      Override o;
      std::vector<std::string> known;
      for (const RuleSource& r : m_.rules) known.push_back(r.name);
      reader_.mapping(item, "an entry of overrides",
                      {{"models", [&](const auto& n) { o.models = globs(n, "models"); }},
                       {"dtypes", [&](const auto& n) { o.dtypes = reader_.words(n, "a data type", kDtypes); }},
                       {"targets", [&](const auto& n) { o.targets = reader_.words(n, "a target", {}); }},
                       {"rules", [&](const auto& n) { o.rules = reader_.words(n, "a rule set here", known); }},
                       {"options", [&](const auto& n) { o.settings = settings(n); }},
                       {"skip", [&](const auto& n) { o.skip = reader_.scalar(n, "skip, the reason,").text; }}});
      if (o.models.empty())
        reader_.error(reader_.span(item), "an entry of overrides says no models").fix("write models: big/*.onnx");
      m_.overrides.push_back(std::move(o));
    });
  }

  YamlReader reader_;
  Span whole_;
};

}  // namespace

std::optional<Manifest> parse_manifest(FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.errors();
  Parser parser(file, sources, diagnostics);
  parser.run();
  if (diagnostics.errors() != before) return std::nullopt;
  return std::move(parser.m_);
}

}  // namespace ampc::build
