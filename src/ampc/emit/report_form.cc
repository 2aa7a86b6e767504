#include "ampc/emit/report_form.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace ampc::emit {
namespace {

using Json = nlohmann::ordered_json;

/// Strings quoted as in JSON, which YAML 1.2 reads as well.
std::string json_text(const Json& j, int indent = -1) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace);
}

bool is_flat(const Json& j) {
  return std::none_of(j.begin(), j.end(), [](const Json& e) { return e.is_structured(); });
}

/// YAML in blocks, lists of plain things in one line. `indent` is that of the lines that follow.
void yaml(std::string& out, const Json& j, std::size_t indent) {
  const auto begin_line = [&] {
    if (!out.empty() && !out.ends_with("- ")) out += '\n' + std::string(indent, ' ');
  };
  if (!j.is_structured() || j.empty() || (j.is_array() && is_flat(j))) {
    if (!out.ends_with(' ')) out += ' ';
    out += json_text(j);
    return;
  }
  if (j.is_array()) {
    for (const Json& e : j) {
      out += '\n' + std::string(indent, ' ') + "- ";
      yaml(out, e, indent + 2);
    }
    return;
  }
  for (const auto& [key, value] : j.items()) {
    begin_line();
    out += json_text(key) + ":";
    yaml(out, value, indent + 2);
  }
}

std::string page(const Json& report) {
  constexpr std::string_view kPlace = "<!--data-->";
  const std::string_view whole = report_page();
  const std::size_t at = whole.find(kPlace);
  std::string out(whole.substr(0, at));
  for (const char c : json_text(report)) {
    if (c == '<') {
      out += "\\u003c";  // nothing in a name ends the script or begins a comment
    } else {
      out += c;
    }
  }
  out += whole.substr(at + kPlace.size());
  return out;
}

}  // namespace

std::optional<ReportForm> report_form(std::string_view path) {
  if (path.ends_with(".html")) return ReportForm::html;
  if (path.ends_with(".json")) return ReportForm::json;
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return ReportForm::yaml;
  return std::nullopt;
}

std::string report_text(const Json& report, ReportForm form) {
  if (form == ReportForm::html) return page(report);
  if (form == ReportForm::json) return json_text(report, 1) + "\n";
  std::string out;
  yaml(out, report, 0);
  return out + "\n";
}

}  // namespace ampc::emit
