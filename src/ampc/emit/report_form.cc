#include "ampc/emit/report_form.h"

#include <algorithm>
#include <stdexcept>

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "ampc/diag/utf8.h"

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

/// As in JSON, and a number to every reader: for YAML 1.1, one with an exponent has a point.
std::string number_text(const Json& j) {
  std::string text = json_text(j);
  const std::size_t exponent = text.find('e');
  if (j.is_number_float() && exponent != std::string::npos && text.find('.') == std::string::npos) {
    text.insert(exponent, ".0");
  }
  return text;
}

/// What is no UTF-8 is replaced as it is in JSON.
std::string string_text(const std::string& text) {
  if (!utf8::first_invalid(text)) return text;
  return Json::parse(json_text(text)).get<std::string>();
}

/// In blocks, lists of plain things in one line. Every text is in quotes: none is taken for a number, a date or a yes.
void yaml(YAML::Emitter& out, const Json& j) {
  if (j.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, value] : j.items()) {
      out << YAML::Key << YAML::DoubleQuoted << string_text(key) << YAML::Value;
      yaml(out, value);
    }
    out << YAML::EndMap;
  } else if (j.is_array()) {
    if (is_flat(j)) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const Json& e : j) yaml(out, e);
    out << YAML::EndSeq;
  } else if (j.is_string()) {
    out << YAML::DoubleQuoted << string_text(j.get_ref<const std::string&>());
  } else if (j.is_null()) {
    out << YAML::Null;
  } else {
    out << number_text(j);  // true and false are what they are in JSON
  }
}

/// DEL, which the library leaves as it is and YAML does not allow, stands in double quotes wherever it stands.
std::string without_del(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 1);
  for (const char c : text) {
    if (c == '\x7f') {
      out += "\\x7f";
    } else {
      out += c;
    }
  }
  return out;
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
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  yaml(out, report);
  if (!out.good()) throw std::logic_error("a report that is no YAML: " + out.GetLastError());
  return without_del({out.c_str(), out.size()}) + "\n";
}

}  // namespace ampc::emit
