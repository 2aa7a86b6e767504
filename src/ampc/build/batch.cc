#include "ampc/build/batch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <numeric>
#include <ostream>
#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "ampc/build/schedule.h"
#include "ampc/driver/compilation.h"
#include "ampc/emit/content_hash.h"
#include "ampc/emit/output_file.h"
#include "ampc/model/mapped_file.h"

namespace ampc::build {
namespace {

namespace fs = std::filesystem;

/// Two builds into one folder work one after the other: the second one finds what the first one did.
class FolderLock {
 public:
  FolderLock(const std::string& out, const driver::Streams& streams) {
    const fs::path path = fs::path(record_path(out, out + "/lock")).replace_extension();
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) throw IoError(path.string(), errno, "cannot write");
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    streams.err << fmt::format("ampc build: waiting for another build into '{}'\n", out) << std::flush;
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() { close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

std::string reason_of(const Job& job, const Model& model) {
  for (const SkipIf& s : job.skip_if) {
    for (const Op& op : model.ops) {
      const std::string name = op.domain.empty() ? std::string(op.name) : fmt::format("{}::{}", op.domain, op.name);
      if (name != s.op) continue;
      return s.reason.empty() ? fmt::format("it has {}, {}", s.op, job.dtype)
                              : fmt::format("it has {}: {}", s.op, s.reason);
    }
  }
  return {};
}

/// The first error of what a run said, and how many more there are.
std::string first_error(const std::string& text) {
  std::istringstream lines(text);
  std::string first, line, any;
  std::size_t more = 0;
  while (std::getline(lines, line)) {
    if (any.empty() && !line.empty()) any = line;
    if (line.find("error[") == std::string::npos) continue;
    if (first.empty()) {
      first = line;
    } else {
      ++more;
    }
  }
  if (first.empty()) return any;
  return more == 0 ? first : fmt::format("{} (and {} more; -v shows all)", first, more);
}

std::uint64_t half_of_memory() {
  const auto pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return static_cast<std::uint64_t>(std::max(1L, pages)) * static_cast<std::uint64_t>(std::max(1L, size)) / 2;
}

/// What a compilation takes at most: its model's file mapped, and the graph. Data files are read piece by piece.
std::uint64_t need_of(const Job& job) {
  constexpr std::uint64_t kBase = std::uint64_t{64} << 20;
  std::error_code error;
  const auto size = fs::file_size(job.model, error);
  return kBase + (error ? 0 : size);
}

}  // namespace

std::string skip_reason(const Job& job) {
  if (!job.skip.empty() || job.skip_if.empty()) return job.skip;
  Diagnostics ignored;
  const auto model = read_model(job.model, ignored);
  return model == nullptr ? std::string() : reason_of(job, *model);
}

Batch::Batch(const Manifest& manifest, const std::vector<Job>& jobs, const BatchOptions& options,
             const driver::Streams& streams)
    : manifest_(manifest),
      jobs_(jobs),
      o_(options),
      s_(streams),
      installed_(driver::installed_rules()),
      begun_(file_clock()),
      states_(jobs.size()) {
  const MappedFile program("/proc/self/exe");
  tool_ = fmt::format("ampc {} {}", AMPC_VERSION, emit::content_hash(program.bytes()));
}

void Batch::say(std::string_view what, const std::string& text) {
  if (!o_.quiet) s_.out << fmt::format("{:<10} {}\n", what, text) << std::flush;
}

void Batch::failed(const Job& job, const std::string& text) {
  ++failed_;
  const bool whole = o_.verbose || o_.report.form != driver::Form::text;
  s_.err << (whole ? text : fmt::format("failed     {} -> {}: {}\n", job.label, job.output, first_error(text)))
         << std::flush;
}

/// What is to be done, and why.
void Batch::look() {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const Job& job = jobs_[i];
    State& state = states_[i];
    if (!job.skip.empty()) {
      state.skipped = job.skip;
      continue;
    }
    const std::string path = record_path(manifest_.out, job.output);
    auto record = read_record(path);
    bool refreshed = false;
    state.why = record ? why_stale(job, tool_, installed_, *record, files_, refreshed) : "new";
    if (record) state.record = std::move(*record);
    if (!state.why.empty()) continue;
    state.skipped = state.record.skipped;
    if (refreshed && !o_.dry_run) write_record(path, state.record);
  }
}

std::vector<std::size_t> Batch::order() {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!states_[i].why.empty()) order.push_back(i);
  }
  if (o_.shuffle) {
    const std::uint32_t seed = o_.seed != 0 ? o_.seed : std::random_device()();
    say("shuffled", fmt::format("by --seed {}", seed));
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  }
  return order;
}

bool Batch::compile(std::size_t number) {
  const Job& job = jobs_[number];
  std::error_code error;
  fs::create_directories(fs::path(job.output).parent_path(), error);
  const std::int64_t start = file_clock();
  std::istringstream in;
  std::ostringstream out, err;
  driver::Compiled compiled;
  try {
    std::vector<std::string> args = {"--write-if-changed", "-q"};
    const auto rest = arguments(job, [](const std::string& path) { return path; });
    args.insert(args.end(), rest.begin(), rest.end());
    int exit = driver::kOk;
    auto options = driver::parse_options(args, out, err, exit);
    compiled.code = exit;
    if (options) {
      options->report.form = o_.report.form;
      driver::CompileHooks hooks;
      hooks.rules = &rules_;
      hooks.skip = [&](const Model& model) { return reason_of(job, model); };
      compiled = driver::compile_model(*options, hooks, {in, out, err});
    }
    if (compiled.code == driver::kOk) keep(number, compiled, start);
  } catch (const std::exception& e) {
    compiled.code = driver::kInternal;
    err << "error[]: " << e.what() << '\n';
  }
  const std::lock_guard lock(mutex_);
  if (compiled.code != driver::kOk) {
    failed(job, err.str());
    return o_.keep_going;
  }
  if (o_.verbose) s_.err << err.str() << std::flush;
  if (!compiled.skipped.empty()) {
    ++skipped_;
    say("skipped", fmt::format("{} ({})", job.label, compiled.skipped));
  } else {
    ++built_;
    say("built", compiled.summary);
  }
  return true;
}

/// The record stands after the output: a run that is killed between does the job again. None is kept where an input was
/// changed meanwhile.
void Batch::keep(std::size_t number, const driver::Compiled& compiled, std::int64_t start) {
  const Job& job = jobs_[number];
  Record record = record_of(job, tool_);
  bool sure = true;
  const auto add = [&](std::vector<FileState>& list, const std::string& path, std::int64_t since) {
    if (auto state = files_.anew(path, since)) {
      list.push_back(std::move(*state));
    } else {
      sure = false;
    }
  };
  add(record.model, job.model, start);
  for (const std::string& path : compiled.data) add(record.model, path, start);
  for (const std::string& path : compiled.rules) add(record.rules, path, begun_);
  const std::string path = record_path(manifest_.out, job.output);
  if (!sure) {
    ::unlink(path.c_str());
    return;
  }
  record.near = nearer_rules(compiled.rules, job, installed_, files_);
  record.skipped = compiled.skipped;
  record.counts = {compiled.low, compiled.fp32, compiled.left, compiled.casts, compiled.bytes, compiled.warnings};
  if (!compiled.skipped.empty()) {
    record.outputs = states_[number].record.outputs;
  } else {
    constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::max();
    add(record.outputs, job.output, kAnyTime);
    if (compiled.data_file) add(record.outputs, job.output + ".data", kAnyTime);
  }
  if (sure) write_record(path, record);
}

/// Outputs of earlier builds that nothing asks for any more.
void Batch::left_over() {
  std::set<std::string> wanted;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].skip.empty()) wanted.insert(record_path(manifest_.out, jobs_[i].output));
  }
  const auto tell = [&](Record record, const std::string& path, bool asked_for) {
    bool rest = false;
    for (const FileState& s : record.outputs) {
      if (!fs::exists(s.path)) continue;
      std::optional<FileState> now;
      if (!o_.clean || o_.dry_run) {
        say("left over", s.path + "; --clean removes it");
      } else if (!files_.same(s, now)) {
        say("left over", s.path + "; it was changed since, and stays");
      } else {
        fs::remove(s.path);
        say("removed", s.path);
        continue;
      }
      rest = true;
    }
    if (rest || o_.dry_run) return;
    record.outputs.clear();
    if (asked_for) return write_record(path, record);
    fs::remove(path);
  };
  for (const std::string& path : all_records(manifest_.out)) {
    if (wanted.contains(path)) continue;
    if (auto record = read_record(path)) tell(std::move(*record), path, false);
  }
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!jobs_[i].skip.empty()) continue;
    const std::string path = record_path(manifest_.out, jobs_[i].output);
    const auto record = states_[i].skipped.empty() && states_[i].why.empty() ? std::nullopt : read_record(path);
    if (record && !record->skipped.empty() && !record->outputs.empty()) tell(*record, path, true);
  }
}

int Batch::run() {
  std::optional<FolderLock> lock;
  if (!o_.dry_run) lock.emplace(manifest_.out, s_);
  look();
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const State& state = states_[i];
    if (!state.skipped.empty()) {
      ++skipped_;
      say("skipped", fmt::format("{} ({})", jobs_[i].label, state.skipped));
    } else if (state.why.empty()) {
      ++unchanged_;
      if (o_.verbose) say("unchanged", jobs_[i].output);
    }
  }
  const std::vector<std::size_t> work = order();
  if (o_.dry_run) {
    for (const std::size_t i : work)
      say("would do", fmt::format("{} -> {} ({})", jobs_[i].label, jobs_[i].output, states_[i].why));
    left_over();
    return driver::kOk;
  }
  std::vector<std::uint64_t> needs(jobs_.size());
  for (const std::size_t i : work) needs[i] = need_of(jobs_[i]);
  run_all(work, needs, o_.jobs, o_.memory != 0 ? o_.memory : half_of_memory(),
          [&](std::size_t number) { return compile(number); });
  left_over();
  say("done:", fmt::format("{} built, {} unchanged, {} skipped, {} failed, {} not tried", built_, unchanged_, skipped_,
                           failed_, jobs_.size() - built_ - unchanged_ - skipped_ - failed_));
  return failed_ == 0 ? driver::kOk : driver::kWrongInput;
}

}  // namespace ampc::build
