// `ampc explain CODE`: what a diagnostic means.
#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/catalog.h"
#include "ampc/diag/suggest.h"
#include "ampc/driver/command.h"

namespace ampc::driver {
namespace {

/// `AMPC0012`, in small letters too, or a warning's name.
int explain_codes(const std::string& given, const Streams& streams) {
  std::string code = given;
  if (code.size() == 8)
    std::transform(code.begin(), code.begin() + 4, code.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  const CodeText* text = find_code(code);
  if (text == nullptr) text = find_code(given);
  if (text != nullptr) {
    streams.out << explain_code(*text);
    return kOk;
  }
  std::vector<std::string_view> names;
  for (const CodeText* c : all_codes()) names.insert(names.end(), {c->code, c->name});
  const std::string near = did_you_mean(given, names);
  return wrong_usage("explain",
                     fmt::format("no diagnostic is called '{}'{}{}; ampc explain --list has all", given,
                                 near.empty() ? "" : "; ", near),
                     streams.err);
}

}  // namespace

int explain_command(const Arguments& args, const Streams& streams) {
  std::string code;
  bool list = false;
  CLI::App app("Tells what a diagnostic means and how to mend it.", "ampc explain");
  auto* what = app.add_option("CODE", code, "The code of a diagnostic, such as AMPC0301, or a warning's name");
  app.add_flag("--list", list, "All codes with their names, a line each")->excludes(what);
  app.footer("Example: ampc explain AMPC0301");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  if (list) {
    for (const CodeText* c : all_codes()) streams.out << fmt::format("{} {:<22} {}\n", c->code, c->name, c->title);
    return kOk;
  }
  if (code.empty()) return wrong_usage("explain", "give the code of a diagnostic", streams.err);
  return explain_codes(code, streams);
}

}  // namespace ampc::driver
