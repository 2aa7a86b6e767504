// Diagnostics for code review: SARIF 2.1.0 (OASIS standard, "Static Analysis Results Interchange Format").
#include <algorithm>
#include <ostream>
#include <set>

#include <nlohmann/json.hpp>

#include "ampc/diag/catalog.h"
#include "ampc/diag/diagnostic.h"

namespace ampc {
namespace {

using Json = nlohmann::ordered_json;

/// A path as a URI reference (RFC 3986): what is not unreserved or a slash is escaped.
std::string uri(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF", kPlain = "-._~/";
  std::string result;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kPlain.find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return result;
}

Json physical(const Span& span, const SourceMap& sources) {
  const auto begin = sources.position(span.file, span.begin), end = sources.position(span.file, span.end);
  return {
      {"artifactLocation", {{"uri", uri(sources.path(span.file))}}},
      {"region",
       {{"startLine", begin.line}, {"startColumn", begin.column}, {"endLine", end.line}, {"endColumn", end.column}}}};
}

Json location_of(const Diagnostic& d, const SourceMap& sources) {
  Json location = Json::object();
  if (d.span.valid()) location["physicalLocation"] = physical(d.span, sources);
  if (!d.place.empty()) location["logicalLocations"] = Json::array({{{"fullyQualifiedName", d.place}}});
  return location;
}

/// What --fix does: all edits of a diagnostic are one fix.
Json fix_of(const Diagnostic& d, const SourceMap& sources) {
  Json changes = Json::array();
  for (const Edit& edit : d.edits) {
    Json place = physical(edit.span, sources);
    changes.push_back({{"artifactLocation", place["artifactLocation"]},
                       {"replacements", Json::array({{{"deletedRegion", place["region"]},
                                                      {"insertedContent", {{"text", edit.text}}}}})}});
  }
  return {{"description", {{"text", d.help.empty() ? d.label : d.help}}}, {"artifactChanges", changes}};
}

Json result_of(const Diagnostic& d, const SourceMap& sources, std::size_t rule) {
  std::string text = d.message;
  if (!d.label.empty()) text += ": " + d.label;
  for (const std::string& note : d.notes) text += "\nnote: " + note;
  if (!d.help.empty()) text += "\nhelp: " + d.help;
  Json result = {{"ruleId", d.code},
                 {"ruleIndex", rule},
                 {"level", d.severity == Severity::error     ? "error"
                           : d.severity == Severity::warning ? "warning"
                                                             : "note"},
                 {"message", {{"text", text}}}};
  if (d.span.valid() || !d.place.empty()) result["locations"] = Json::array({location_of(d, sources)});
  std::size_t id = 0;
  for (const Label& label : d.labels) {
    if (!label.span.valid()) continue;
    result["relatedLocations"].push_back(
        {{"id", id++}, {"physicalLocation", physical(label.span, sources)}, {"message", {{"text", label.text}}}});
  }
  if (!d.edits.empty()) result["fixes"] = Json::array({fix_of(d, sources)});
  return result;
}

Json rule_of(const std::string& code) {
  Json rule = {{"id", code}};
  if (const CodeText* text = find_code(code)) {
    rule["name"] = text->name;
    rule["shortDescription"] = {{"text", text->title}};
    rule["fullDescription"] = {{"text", text->text}};
    rule["help"] = {{"text", explain_code(*text)}};
  }
  return rule;
}

}  // namespace

void render_sarif(std::ostream& out, const Diagnostics& diagnostics, const SourceMap& sources, std::string_view version,
                  const RenderOptions& options) {
  const std::vector<const Diagnostic*> list = shown(diagnostics, sources, options).list;
  std::set<std::string> codes;
  for (const Diagnostic* d : list) codes.insert(d->code);
  Json rules = Json::array(), results = Json::array();
  for (const std::string& code : codes) rules.push_back(rule_of(code));
  for (const Diagnostic* d : list) {
    const auto at = static_cast<std::size_t>(std::distance(codes.begin(), codes.find(d->code)));
    results.push_back(result_of(*d, sources, at));
  }
  const Json log = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({{{"tool", {{"driver", {{"name", "ampc"}, {"version", version}, {"rules", rules}}}}},
                             {"columnKind", "unicodeCodePoints"},
                             {"results", results}}})}};
  out << log.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace ampc
