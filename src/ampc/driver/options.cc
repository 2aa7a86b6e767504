#include "ampc/driver/options.h"

#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace ampc::driver {

std::optional<Options> parse_options(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
                                     int& exit) {
  Options o;
  CLI::App app("Turns a trained ONNX model into mixed precision by a rule file.", "ampc");
  app.footer(
      "The output is MODEL's stem with the data type, in the current folder: model.onnx becomes model.fp16.onnx.\n"
      "Exit codes: 0 done, 1 wrong input, 2 wrong usage, 3 a fault of ampc itself.\n"
      "Example: ampc rules/default.amp model.onnx -o out/ --dtype bf16 --depfile out/model.d");
  app.set_version_flag("--version", std::string("ampc ") + AMPC_VERSION, "Print the version and end");
  app.add_option("RULES", o.rules, "Rule file (.amp)")->required();
  app.add_option("MODEL", o.model, "ONNX model; not needed for --emit ast and --emit rules");
  app.add_option("-o,--output", o.output, "Output file, or a folder that exists")->type_name("PATH");
  const std::map<std::string, ElemType> dtypes{{"fp16", ElemType::float16}, {"bf16", ElemType::bfloat16}};
  std::string dtype, gray, io, functions, emit = "file";
  app.add_option("--dtype", dtype, "Low data type: fp16 or bf16; overrides the rules")
      ->check(CLI::IsMember({"fp16", "bf16"}))
      ->type_name("TYPE");
  std::string level;
  app.add_option("--level", level, "Level that the rules define (O0, O1, O2, OD); overrides the rules")
      ->type_name("NAME");
  bool promote = false, no_promote = false;
  auto* yes = app.add_flag("--promote", promote, "One fp32 operand keeps a follow node in fp32");
  app.add_flag("--no-promote", no_promote, "Follow nodes follow what is produced low")->excludes(yes);
  app.add_option("--gray", gray, "Follow nodes one by one (local), or all at once by the fewest bytes cast (cut)")
      ->check(CLI::IsMember({"local", "cut"}))
      ->type_name("HOW");
  app.add_option("--rewrite", o.rewrite, "Remove casts that could go: moved beside creators and redundant")
      ->check(CLI::IsMember({"creators", "moved", "redundant"}))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--no-rewrite", o.no_rewrite, "Leave casts that could go: creators, moved, redundant; may be repeated")
      ->check(CLI::IsMember({"creators", "moved", "redundant"}))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("-I,--import-dir", o.import_dirs, "Folder to look for imported rule files in; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--target", o.targets,
                 "Runtime to compile for, such as ort-cpu: imports target/NAME.amp; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--io", io, "Types of the model's inputs and outputs: keep or low")
      ->check(CLI::IsMember({"keep", "low"}))
      ->type_name("HOW");
  app.add_option("--functions", functions, "Model-local functions: keep, a copy for each kind of call, or inline")
      ->check(CLI::IsMember({"keep", "inline"}))
      ->type_name("HOW");
  app.add_flag("--external-data", o.external_data,
               "Weights in a file beside the model, OUTPUT.data, as is done by itself beyond 2 GiB");
  app.add_option("--threshold", o.threshold, "Least bytes of a weight that goes into that file")
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--depfile", o.depfile, "Write the files that were read, as make and Ninja read them")
      ->type_name("FILE");
  app.add_flag("--write-if-changed", o.write_if_changed, "Leave an output of the same bytes alone");
  app.add_option("-j,--jobs", o.jobs, "Threads; the output is the same for any number")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_option("--emit", emit, "Print a stage instead of writing a model: ast, rules, decisions, onnx")
      ->check(CLI::IsMember({"ast", "rules", "decisions", "onnx"}))
      ->type_name("STAGE");
  app.add_option("--explain", o.explain, "Print why the node of this name is what it is, and write nothing")
      ->type_name("NODE");
  auto* quiet = app.add_flag("-q,--quiet", o.quiet, "No summary, no notes");
  app.add_flag("-v,--verbose", o.verbose, "Tell more of what was done")->excludes(quiet);
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::Success& e) {
    exit = kOk;
    if (dynamic_cast<const CLI::CallForVersion*>(&e) != nullptr) {
      out << e.what() << '\n';
    } else {
      out << app.help();
    }
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    exit = kUsage;
    err << "ampc: " << e.what() << "\nampc --help shows the options\n";
    return std::nullopt;
  }
  const auto usage = [&](std::string_view text) -> std::optional<Options> {
    exit = kUsage;
    err << "ampc: " << text << "\nampc --help shows the options\n";
    return std::nullopt;
  };
  if (!dtype.empty()) o.dtype = dtypes.at(dtype);
  if (!level.empty()) o.level = level;
  if (promote || no_promote) o.promote = promote;
  if (!gray.empty()) o.gray = gray == "cut" ? lang::Gray::cut : lang::Gray::local;
  if (!functions.empty()) o.functions = functions == "inline" ? lang::Functions::inlined : lang::Functions::keep;
  if (!io.empty()) o.io = io == "low" ? lang::Io::low : lang::Io::keep;
  const std::map<std::string, Emit> stages{{"file", Emit::file},
                                           {"ast", Emit::ast},
                                           {"rules", Emit::rules},
                                           {"decisions", Emit::decisions},
                                           {"onnx", Emit::onnx}};
  o.emit = stages.at(emit);
  const bool rules_alone = o.emit == Emit::ast || o.emit == Emit::rules;
  if (o.model.empty() && !rules_alone) {
    return usage(o.rules.ends_with(".onnx") ? "give the rule file before the model: ampc RULES MODEL"
                                            : "give a model after the rule file: ampc RULES MODEL");
  }
  return o;
}

}  // namespace ampc::driver
