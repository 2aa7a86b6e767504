// `ampc build ampc.yaml`: many models, what has changed alone.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <span>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <CLI/CLI.hpp>

#include "ampc/build/batch.h"
#include "ampc/build/jobs.h"
#include "ampc/build/ninja_file.h"
#include "ampc/diag/build_codes.h"
#include "ampc/diag/model_codes.h"
#include "ampc/diag/whole_file.h"
#include "ampc/driver/build.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/report.h"
#include "ampc/driver/size_option.h"
#include "ampc/emit/output_file.h"
#include "ampc/passes/passes.h"

namespace ampc::driver {
namespace {

namespace fs = std::filesystem;

struct BuildOptions {
  std::string manifest = "ampc.yaml";
  std::string ninja;
  build::BatchOptions batch;
  ReportOptions report;
};

/// The process works in the manifest's folder for a while: names in a manifest are seen from there.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) {
    if (!folder.empty()) fs::current_path(folder);
  }
  ~InFolder() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

class Build {
 public:
  Build(const BuildOptions& options, const Streams& streams) : o_(options), s_(streams) {}

  int run() {
    diagnostics_.set_policy(policy_of(o_.report));
    auto text = read_whole(o_.manifest);
    if (!text) {
      diagnostics_.error(codes::kManifest, fmt::format("the manifest cannot be read: {}", std::strerror(errno)))
          .in(o_.manifest)
          .fix("`ampc build` reads ampc.yaml in the current folder, unless another file is named");
      return told(kWrongInput);
    }
    const FileId file = sources_.add(o_.manifest, std::move(*text));
    const std::string ninja = o_.ninja.empty() ? std::string() : fs::absolute(o_.ninja).lexically_normal().string();
    const std::string path = fs::absolute(o_.manifest).lexically_normal().string();
    const InFolder here(fs::path(o_.manifest).parent_path());
    if (is_something_else(file)) return told(kWrongInput);
    const auto manifest = build::parse_manifest(file, sources_, diagnostics_);
    if (!manifest) return told(kWrongInput);
    std::vector<build::Job> jobs = build::make_jobs(*manifest, installed_rules(), diagnostics_);
    for (build::Job& job : jobs) {  // what was built without -Werror has not passed it
      for (const std::string& word : o_.report.warnings) job.options.insert(job.options.end(), {"-W", word});
    }
    if (diagnostics_.failed()) return told(kWrongInput);
    try {
      if (!ninja.empty()) return write_ninja(ninja, path, jobs);
      return build::Batch(*manifest, jobs, o_.batch, s_).run();
    } catch (const IoError& e) {
      diagnostics_.error(codes::kCannotWrite, e.what()).in(e.path());
      return told(kWrongInput);
    }
  }

 private:
  /// A file of another kind that was given for the manifest; reports.
  bool is_something_else(FileId file) {
    const std::string_view text = sources_.text(file);
    const bool model = o_.manifest.ends_with(".onnx");
    const bool rules = o_.manifest.ends_with(".amp") || text.starts_with("amp 1");
    if (!model && !rules) return false;
    diagnostics_
        .error(codes::kManifest,
               model ? "this is an ONNX model, not a manifest" : "this is a rule file, not a manifest")
        .in(o_.manifest)
        .fix(model ? "name it in a manifest, `models: model.onnx`, or compile it alone by `ampc RULES MODEL`"
                   : "name it in a manifest, `rules: team.amp`, or compile one model by `ampc RULES MODEL`");
    return true;
  }

  int told(int code) {
    report(s_.err, diagnostics_, sources_, o_.report);
    return code;
  }

  int write_ninja(const std::string& ninja, const std::string& manifest, const std::vector<build::Job>& jobs) {
    std::vector<build::Job> wanted;
    std::vector<std::string> skipped, errors;
    for (const build::Job& job : jobs) {
      std::string reason = build::skip_reason(job);
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      if (reason.empty()) {
        wanted.push_back(job);
      } else {
        skipped.push_back(job.label + ": " + reason);
      }
    }
    const fs::path from = fs::path(ninja).parent_path();
    const build::NinjaPlace place{fs::read_symlink("/proc/self/exe").string(),
                                  fs::path(manifest).lexically_relative(from).string(),
                                  fs::path(manifest).parent_path().lexically_relative(from).string()};
    const std::string text = build::ninja_file(wanted, skipped, place, errors);
    for (const std::string& error : errors) diagnostics_.error(codes::kManifest, error).in(ninja);
    if (diagnostics_.failed()) return told(kWrongInput);
    emit::OutputFile file(ninja);
    file.write_at(0, std::as_bytes(std::span(text.data(), text.size())));
    emit::OutputFile::CommitOptions commit;
    commit.write_if_changed = true;
    file.commit(commit);
    return kOk;
  }

  const BuildOptions& o_;
  const Streams& s_;
  SourceMap sources_;
  Diagnostics diagnostics_;
};

}  // namespace

int build_command(const Arguments& args, const Streams& streams) {
  BuildOptions o;
  CLI::App app("Compiles many models as a manifest says: what has changed since the last time, and nothing else.",
               "ampc build");
  app.add_option("MANIFEST", o.manifest, "Manifest; names in it are seen from its folder")->capture_default_str();
  app.add_option("--ninja", o.ninja, "Compile nothing, and write the same work as a Ninja file")->type_name("FILE");
  app.add_flag("-n,--dry-run", o.batch.dry_run, "Tell what would be done and why, and do nothing");
  app.add_flag("-k,--keep-going,!--no-keep-going", o.batch.keep_going,
               "Go on with other models after one that failed, as is done unless --no-keep-going says otherwise");
  auto* shuffle = app.add_flag("--shuffle", o.batch.shuffle, "Compile in an order that is drawn");
  app.add_option("--seed", o.batch.seed, "Draw the order by this number")->type_name("N")->needs(shuffle);
  app.add_flag("--clean", o.batch.clean, "Remove outputs of earlier builds that the manifest asks for no more");
  app.add_option("-j,--jobs", o.batch.jobs, "Threads, and most models at a time; outputs are the same for any number")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  add_size_option(app, "--memory", o.batch.memory,
                  "Memory that models may take together, such as 4G; half of the machine's, unless said. A model that "
                  "takes more is compiled alone",
                  1);
  add_report_options(app, o.report);
  auto* quiet = app.add_flag("-q,--quiet", o.batch.quiet, "Failures alone");
  app.add_flag("-v,--verbose", o.batch.verbose, "Tell of outputs that are as they were, and all diagnostics")
      ->excludes(quiet);
  app.footer(
      "Exit codes: 0 all outputs are there, 1 a wrong manifest or a model that failed, 2 wrong usage.\n"
      "Example: ampc build models/ampc.yaml -j4");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  o.report.quiet = o.batch.quiet;
  o.batch.report = o.report;
  std::optional<tbb::global_control> limit;
  if (o.batch.jobs == 0) o.batch.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(o.batch.jobs));
  try {
    weights::cpu_caster();  // looks at AMPC_FORCE_KERNEL
  } catch (const std::invalid_argument& e) {
    streams.err << "ampc build: " << e.what() << '\n';
    return kUsage;
  }
  return Build(o, streams).run();
}

}  // namespace ampc::driver
