#include "ampc/driver/report.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/catalog.h"
#include "ampc/diag/suggest.h"

namespace ampc::driver {
namespace {

constexpr std::string_view kOff = "no-";

/// Empty where -W knows the word.
std::string check_warning(const std::string& word) {
  if (word == "error") return {};
  std::vector<std::string_view> names;
  for (const CodeText* c : all_codes()) {
    if (c->warns) names.push_back(c->name);
  }
  const std::string_view name = word.starts_with(kOff) ? std::string_view(word).substr(kOff.size()) : word;
  const CodeText* c = find_code(name);  // by what stands in the brackets, too
  if (c != nullptr && !c->warns) return fmt::format("'{}' is always an error, and cannot be turned off", c->name);
  if (c != nullptr && word.starts_with(kOff)) return {};
  if (c != nullptr) return fmt::format("-W{} is on unless -Wno-{} turns it off", word, word);
  const std::string near = did_you_mean(name, names);
  return fmt::format("no warning is called '{}'; {}", name,
                     near.empty() ? "names are " + list_of(names, false, "and") : near);
}

std::size_t terminal_width() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

void add_report_options(CLI::App& app, ReportOptions& o) {
  app.add_option_function<std::string>(
         "--diagnostics",
         [&o](const std::string& form) {
           o.form = form == "json" ? Form::json : form == "sarif" ? Form::sarif : Form::text;
         },
         "Errors and warnings as text, as JSON lines, or as a SARIF log")
      ->check(CLI::IsMember({"text", "json", "sarif"}))
      ->type_name("FORM");
  app.add_option_function<std::string>(
         "--color",
         [&o](const std::string& when) {
           o.colour = when == "always" ? Colour::always : when == "never" ? Colour::never : Colour::automatic;
         },
         "Colours: auto, on a terminal without NO_COLOR, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  app.add_option("-W", o.warnings,
                 "-Werror makes errors of warnings, -Wno-NAME turns one off; ampc explain tells their names")
      ->check(CLI::Validator(check_warning, ""))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--max-errors", o.max_errors, "Show so many errors; 0, the default, shows all")->type_name("N");
}

WarningPolicy policy_of(const ReportOptions& options) {
  WarningPolicy policy;
  for (const std::string& word : options.warnings) {
    if (word == "error") {
      policy.errors = true;
    } else if (const CodeText* c = find_code(std::string_view(word).substr(kOff.size()))) {
      policy.off.emplace(c->code);
    }
  }
  return policy;
}

void report(std::ostream& err, const Diagnostics& diagnostics, const SourceMap& sources, const ReportOptions& options) {
  const bool terminal = &err == &std::cerr && ::isatty(STDERR_FILENO) != 0;
  RenderOptions render_options;
  render_options.quiet_notes = options.quiet;
  render_options.max_errors = options.max_errors;
  if (options.form == Form::json) return render_json(err, diagnostics, sources, render_options);
  if (options.form == Form::sarif) return render_sarif(err, diagnostics, sources, AMPC_VERSION, render_options);
  const char* no_color = std::getenv("NO_COLOR");  // no-color.org: set, and not empty
  render_options.colour = options.colour == Colour::always ||
                          (options.colour == Colour::automatic && terminal && (no_color == nullptr || *no_color == 0));
  constexpr std::size_t kMargin = 12;  // of the line's number and of dots
  if (const std::size_t width = terminal ? terminal_width() : 0; width > kMargin)
    render_options.width = width - kMargin;
  render(err, diagnostics, sources, render_options);
}

std::string size_text(std::uint64_t bytes) {
  const auto n = static_cast<double>(bytes);
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", n / 1e3);
  if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", n / 1e6);
  return fmt::format("{:.1f} GB", n / 1e9);
}

}  // namespace ampc::driver
