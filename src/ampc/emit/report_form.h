// A report's tree as a file: HTML, JSON or YAML.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace ampc::emit {

enum class ReportForm { html, json, yaml };

/// By the file's ending: .html, .json, .yaml or .yml; nothing for any other.
std::optional<ReportForm> report_form(std::string_view path);

/// The whole file. What is no UTF-8 in a name is replaced by U+FFFD.
std::string report_text(const nlohmann::ordered_json& report, ReportForm form);

/// The page without its data, which stand in place of `<!--data-->`; made from report/ by cmake/EmbedPage.cmake.
std::string_view report_page();

}  // namespace ampc::emit
