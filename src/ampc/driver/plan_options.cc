#include "ampc/driver/plan_options.h"

#include <CLI/CLI.hpp>

namespace ampc::driver {
namespace {

/// An option with the few values that `values` names.
template <typename T>
void add_choice(CLI::App& app, const std::string& name, const std::string& description, const std::string& placeholder,
                std::optional<T>& place, const std::vector<std::pair<std::string, T>>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto& [text, value] : values) names.push_back(text);
  app.add_option_function<std::string>(
         name,
         [&place, values](const std::string& given) {
           for (const auto& [text, value] : values) {
             if (text == given) place = value;
           }
         },
         description)
      ->check(CLI::IsMember(names))
      ->type_name(placeholder);
}

}  // namespace

void add_import_options(CLI::App& app, PlanOptions& o) {
  app.add_option("-I,--import-dir", o.import_dirs, "Folder to look for imported rule files in; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--target", o.targets,
                 "Runtime to compile for, such as ort-cpu: imports target/NAME.amp; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void add_plan_options(CLI::App& app, PlanOptions& o) {
  add_choice<ElemType>(app, "--dtype", "Low data type: fp16 or bf16; overrides the rules", "TYPE", o.dtype,
                       {{"fp16", ElemType::float16}, {"bf16", ElemType::bfloat16}});
  app.add_option_function<std::string>(
         "--level", [&o](const std::string& name) { o.level = name; },
         "Level that the rules define (O0, O1, O2, OD); overrides the rules")
      ->type_name("NAME");
  auto* yes = app.add_flag_callback(
      "--promote", [&o] { o.promote = true; }, "One fp32 operand keeps a follow node in fp32");
  app.add_flag_callback(
         "--no-promote", [&o] { o.promote = false; }, "Follow nodes follow what is produced low")
      ->excludes(yes);
  add_choice<lang::Gray>(app, "--gray",
                         "Follow nodes one by one (local), or all at once by the fewest bytes cast (cut)", "HOW",
                         o.gray, {{"local", lang::Gray::local}, {"cut", lang::Gray::cut}});
  app.add_option("--rewrite", o.rewrite, "Remove casts that could go: moved beside creators and redundant")
      ->check(CLI::IsMember({"creators", "moved", "redundant"}))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--no-rewrite", o.no_rewrite, "Leave casts that could go: creators, moved, redundant; may be repeated")
      ->check(CLI::IsMember({"creators", "moved", "redundant"}))
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_import_options(app, o);
  add_choice<lang::Io>(app, "--io", "Types of the model's inputs and outputs: keep or low", "HOW", o.io,
                       {{"keep", lang::Io::keep}, {"low", lang::Io::low}});
  add_choice<lang::Functions>(app, "--functions",
                              "Model-local functions: keep, a copy for each kind of call, or inline", "HOW",
                              o.functions, {{"keep", lang::Functions::keep}, {"inline", lang::Functions::inlined}});
  app.add_option("--opset", o.opset, "Bring the model to this opset first, by onnx's version converter")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  app.add_option("-j,--jobs", o.jobs, "Threads; the output is the same for any number")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
}

}  // namespace ampc::driver
