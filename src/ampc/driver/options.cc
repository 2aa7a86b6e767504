#include "ampc/driver/options.h"

#include <map>
#include <ostream>

#include <CLI/CLI.hpp>

#include "ampc/driver/command.h"
#include "ampc/emit/report_form.h"

namespace ampc::driver {

std::optional<Options> parse_options(const Arguments& args, std::ostream& out, std::ostream& err, int& exit) {
  Options o;
  CLI::App app("Turns a trained ONNX model into mixed precision by a rule file.", "ampc");
  app.footer(
      "Commands beside it, each with --help; a rule file of such a name is given with its folder, ./NAME:\n" +
      commands_text() +
      "\nThe output is MODEL's stem with the data type, in the current folder: model.onnx becomes model.fp16.onnx.\n"
      "Exit codes: 0 done, 1 wrong input, 2 wrong usage, 3 a fault of ampc itself.\n"
      "Example: ampc rules/default.amp model.onnx -o out/ --dtype bf16 --depfile out/model.d");
  app.set_version_flag("--version", std::string("ampc ") + AMPC_VERSION, "Print the version and end");
  app.add_option("RULES", o.rules, "Rule file (.amp)")->required();
  app.add_option("MODEL", o.model, "ONNX model; not needed for --emit ast and --emit rules");
  app.add_option("-o,--output", o.output, "Output file, or a folder that exists")->type_name("PATH");
  add_plan_options(app, o);
  app.add_flag("--external-data", o.external_data,
               "Weights in a file beside the model, OUTPUT.data, as is done by itself beyond 2 GiB");
  app.add_option("--threshold", o.threshold, "Least bytes of a weight that goes into that file")
      ->type_name("BYTES")
      ->capture_default_str();
  add_depfile_options(app, o, "the model", "out.onnx has out.d");
  o.unused_inputs.add_options(app);
  app.add_flag("--write-if-changed", o.write_if_changed, "Leave an output of the same bytes alone");
  add_cast_options(app, o);
  std::string emit = "file";
  app.add_option("--emit", emit, "Print a stage instead of writing a model: ast, rules, decisions, onnx")
      ->check(CLI::IsMember({"ast", "rules", "decisions", "onnx"}))
      ->type_name("STAGE");
  app.add_option("--explain", o.explain, "Print why the node of this name is what it is, and write nothing")
      ->type_name("NODE");
  app.add_option("--report", o.reports, "Tell what was done: FILE.html, .json or .yaml; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_report_options(app, o.report);
  auto* quiet = app.add_flag("-q,--quiet", o.quiet, "No summary, no notes");
  app.add_flag("-v,--verbose", o.verbose, "Tell more of what was done")->excludes(quiet);
  if (const auto over = parse(app, with_long_depfile_names(args), out, err)) {
    exit = *over;
    return std::nullopt;
  }
  if (const std::string wrong = wrong_depfile_options(o); !wrong.empty()) {
    exit = wrong_usage({}, wrong, err);
    return std::nullopt;
  }
  for (const std::string& file : o.reports) {
    if (emit::report_form(file)) continue;
    exit = wrong_usage({}, "--report " + file + ": name a file that ends in .html, .json or .yaml", err);
    return std::nullopt;
  }
  if (!o.reports.empty() && (emit != "file" || !o.explain.empty())) {
    exit = wrong_usage({}, "--report tells of a model that is written; leave out --emit and --explain", err);
    return std::nullopt;
  }
  o.report.quiet = o.quiet;
  const std::map<std::string, Emit> stages{{"file", Emit::file},
                                           {"ast", Emit::ast},
                                           {"rules", Emit::rules},
                                           {"decisions", Emit::decisions},
                                           {"onnx", Emit::onnx}};
  o.emit = stages.at(emit);
  const bool rules_alone = o.emit == Emit::ast || o.emit == Emit::rules;
  if (o.model.empty() && !rules_alone) {
    exit = wrong_usage({},
                       o.rules.ends_with(".onnx") ? "give the rule file before the model: ampc RULES MODEL"
                                                  : "give a model after the rule file: ampc RULES MODEL",
                       err);
    return std::nullopt;
  }
  return o;
}

}  // namespace ampc::driver
