// `ampc fmt FILE…`: rule files in their canonical layout.
#include <cstring>
#include <istream>
#include <iterator>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/codes.h"
#include "ampc/diag/model_codes.h"
#include "ampc/driver/command.h"
#include "ampc/driver/report.h"
#include "ampc/driver/text_diff.h"
#include "ampc/emit/output_file.h"
#include "ampc/lang/format.h"
#include "ampc/lang/rule_file.h"

namespace ampc::driver {
namespace {

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false;
  bool diff = false;
  ReportOptions report;
};

class Formatter {
 public:
  Formatter(FmtOptions options, const Streams& streams) : o_(std::move(options)), s_(streams) {}

  int run() {
    for (const std::string& path : o_.files) {
      path == "-" ? from_stdin() : in_place(path);
    }
    report(s_.err, diagnostics_, sources_, o_.report);
    if (o_.check && changed_ != 0 && o_.report.form == Form::text) {
      s_.err << fmt::format("{} of {} files {} laid out as `ampc fmt` does it\n", changed_, o_.files.size(),
                            changed_ == 1 ? "is not" : "are not");
    }
    return diagnostics_.failed() || (o_.check && changed_ != 0) ? kWrongInput : kOk;
  }

 private:
  void from_stdin() {
    const std::string name = "<stdin>";
    const lang::RuleFile file = lang::rule_text({std::istreambuf_iterator<char>(s_.in), {}});
    const auto text = laid_out(name, file);
    if (!text) return;
    if (o_.check || o_.diff) {
      compare(name, file, *text);
    } else {
      s_.out << *text;
    }
  }

  void in_place(const std::string& path) {
    const lang::RuleFile file = lang::read_rule_file(path);
    const auto text = laid_out(path, file);
    if (!text || !changes(file, *text)) return;
    if (o_.check || o_.diff) return compare(path, file, *text);
    try {
      emit::OutputFile out(path);
      out.set_size(text->size());
      out.write_at(0, std::as_bytes(std::span(*text)));
      out.commit();
    } catch (const IoError& e) {
      diagnostics_.error(codes::kCannotWrite, fmt::format("{}: {}", e.message(), std::strerror(e.code()))).in(path);
    }
  }

  std::optional<std::string> laid_out(const std::string& name, const lang::RuleFile& file) {
    if (file.ok) return lang::format(sources_.add(name, file.text), sources_, diagnostics_);
    diagnostics_.error(file.code, "the rule file " + file.fault).in(name).fix(file.help);
    return std::nullopt;
  }

  static bool changes(const lang::RuleFile& file, const std::string& text) {
    return file.byte_order_mark || file.text != text;
  }

  void compare(const std::string& name, const lang::RuleFile& file, const std::string& text) {
    if (!changes(file, text)) return;
    ++changed_;
    if (o_.diff) {
      const std::string before = (file.byte_order_mark ? "\xef\xbb\xbf" : "") + file.text;
      s_.out << unified_diff(before, text, name, name);
    } else {
      s_.out << name << '\n';
    }
  }

  FmtOptions o_;
  const Streams& s_;
  SourceMap sources_;
  Diagnostics diagnostics_;
  std::size_t changed_ = 0;
};

}  // namespace

int fmt_command(const Arguments& args, const Streams& streams) {
  FmtOptions o;
  CLI::App app("Lays out rule files: one statement a line, comments and blank lines kept.", "ampc fmt");
  app.add_option("FILE", o.files, "Rule files, changed in place; - reads from standard input and prints")->required();
  app.add_flag("--check", o.check, "Change nothing; name the files that would change, and end with 1 if there are any");
  app.add_flag("--diff", o.diff, "Change nothing; print what would change");
  add_report_options(app, o.report);
  app.footer(
      "A file whose syntax is wrong is told, and left as it is; the exit code is then 1.\n"
      "Example: ampc fmt --check --diff rules/*.amp");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  return Formatter(std::move(o), streams).run();
}

}  // namespace ampc::driver
