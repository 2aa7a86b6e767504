// An explanation as a terminal shows it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ampc/emit/explain.h"

namespace ampc::emit {
namespace {

using Json = nlohmann::ordered_json;

std::string str(const Json& object, const char* key) { return object.at(key).get<std::string>(); }

std::string rule_text(const Json& rule, std::string_view indent) {
  return fmt::format("{}{}:{}:{}: {}\n", indent, str(rule, "file"), rule.at("line").get<int>(),
                     rule.at("column").get<int>(), str(rule, "text"));
}

/// Each link but the first is named by the value that leads to it.
std::string chain_text(const Json& chain, std::string_view indent) {
  std::string text;
  std::string through;
  for (const Json& link : chain) {
    const bool first = &link == &chain.front();
    if (!first) {
      text += fmt::format("{}  {}{}: {}\n", indent, through.empty() ? "as " : "'" + through + "' is made by ",
                          str(link, "node"), str(link, "type"));
    }
    text += fmt::format("{}{}{}", indent, first ? "  " : "    ", str(link, "reason"));
    if (link.contains("value")) text += fmt::format(", '{}'", str(link, "value"));
    text += '\n';
    const std::string deeper = std::string(indent) + (first ? "    " : "      ");
    if (link.contains("rule")) text += rule_text(link.at("rule"), deeper);
    if (link.contains("schema")) text += deeper + "schema: " + str(link, "schema") + "\n";
    if (link.contains("model")) text += deeper + "model: " + str(link, "model") + "\n";
    through = link.contains("through") ? str(link, "through") : "";
  }
  return text;
}

std::string slots_text(const Json& list, std::string_view what) {
  std::string text;
  for (const Json& s : list) {
    text += fmt::format("  {} {}{} '{}' {}{}\n", what, s.at("position").get<int>(),
                        s.contains("name") ? " " + str(s, "name") : "", str(s, "value"), str(s, "type"),
                        s.contains("cast") ? ", cast to " + str(s, "cast") : "");
  }
  return text;
}

}  // namespace

std::string explanation_text(const Json& e) {
  std::string text = fmt::format("{}: {}\n", str(e, "what"), str(e, "type"));
  if (e.at("kind") == "cast") {
    text = fmt::format("{}: '{}' from {} to {}\n", str(e, "what"), str(e, "of"), str(e, "from"), str(e, "type"));
    if (e.contains("reused")) text += fmt::format("  it is the model's own {}\n", str(e, "reused"));
    if (e.contains("edges")) {
      for (const Json& edge : e.at("edges")) {
        text += fmt::format("  for operand {}{} of {}\n", edge.at("position").get<int>(),
                            edge.contains("name") ? " " + str(edge, "name") : "", str(edge, "node"));
        if (edge.contains("chain")) text += chain_text(edge.at("chain"), "  ");
      }
    }
    if (e.contains("outputs")) {
      for (const Json& block : e.at("outputs"))
        text += fmt::format("  for an output of {}\n", block.get<std::string>());
    }
  }
  if (e.contains("model")) text += fmt::format("  {}\n", str(e, "model"));
  if (e.contains("stored")) text += fmt::format("  stored in {}\n", str(e, "stored"));
  if (e.contains("made by")) {
    const std::string what = e.at("kind") == "cast" ? "'" + str(e, "of") + "' is" : std::string("it is");
    text += fmt::format("  {} made by {}: {}\n", what, str(e, "made by"), str(e.at("chain").front(), "type"));
  }
  if (e.contains("chain")) text += chain_text(e.at("chain"), e.contains("made by") ? "  " : "");
  if (e.contains("lost")) {
    for (const Json& l : e.at("lost")) {
      text += fmt::format("  not by '{}': {}{}\n", str(l, "what"), str(l, "why"),
                          l.contains("condition") ? ": " + str(l, "condition") : "");
      text += rule_text(l.at("rule"), "    ");
    }
  }
  if (e.contains("schema")) {
    text += fmt::format("  schema {}: {}\n", str(e.at("schema"), "operator"),
                        fmt::join(e.at("schema").at("types").get<std::vector<std::string>>(), "; "));
  }
  if (e.contains("operands")) text += slots_text(e.at("operands"), "operand");
  if (e.contains("results")) text += slots_text(e.at("results"), "result");
  if (e.contains("casts")) {
    for (const Json& c : e.at("casts")) text += fmt::format("  cast as '{}'\n", c.get<std::string>());
  }
  if (e.contains("readers")) {
    for (const Json& r : e.at("readers")) {
      text +=
          fmt::format("  read by {}, operand {}, as {}\n", str(r, "node"), r.at("position").get<int>(), str(r, "type"));
    }
  }
  return text;
}

}  // namespace ampc::emit
