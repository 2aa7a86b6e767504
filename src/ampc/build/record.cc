#include "ampc/build/record.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ampc/diag/whole_file.h"
#include "ampc/emit/content_hash.h"
#include "ampc/emit/output_file.h"
#include "ampc/emit/temporary_file.h"

namespace ampc::build {

using Json = nlohmann::ordered_json;

namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr std::string_view kFolder = ".ampc";

std::string hash_of(const std::string& text) {
  return emit::content_hash(std::as_bytes(std::span(text.data(), text.size())));
}

Json json_of(const std::vector<FileState>& states) {
  Json list = Json::array();
  for (const FileState& s : states) {
    list.push_back({{"path", s.path},
                    {"hash", s.hash},
                    {"size", s.size},
                    {"inode", s.inode},
                    {"modified", s.modified},
                    {"changed", s.changed},
                    {"settled", s.settled}});
  }
  return list;
}

std::vector<FileState> states_of(const Json& list) {
  std::vector<FileState> result;
  for (const Json& j : list) {
    result.push_back(
        {j.at("path"), j.at("hash"), j.at("size"), j.at("inode"), j.at("modified"), j.at("changed"), j.at("settled")});
  }
  return result;
}

/// Whether a path has a folder of another as its beginning; what follows then.
std::optional<std::string> below(const std::string& path, const std::string& folder) {
  if (folder.empty() || folder == ".") return path.starts_with('/') ? std::nullopt : std::optional(path);
  if (!path.starts_with(folder + '/')) return std::nullopt;
  return path.substr(folder.size() + 1);
}

}  // namespace

std::string Record::rules_hash() const {
  std::string text;
  for (const FileState& s : rules) text += s.hash + '\n';
  return hash_of(text);
}

std::string Record::key() const {
  Json all = {{"tool", tool}, {"command", command}, {"skip_if", skip_if}, {"rules", rules_hash()}};
  for (const FileState& s : model) all["model"].push_back(s.hash);
  return hash_of(all.dump());
}

std::string record_path(const std::string& out, const std::string& output) {
  return (fs::path(out) / kFolder /
          (fs::path(output).lexically_relative(fs::path(out).lexically_normal()).string() + ".json"))
      .string();
}

std::optional<Record> read_record(const std::string& path) {
  const auto text = read_whole(path);
  if (!text) return std::nullopt;
  try {
    const Json j = Json::parse(*text);
    if (j.at("format") != kFormat) return std::nullopt;
    Record r;
    r.tool = j.at("tool");
    r.command = j.at("command");
    r.skip_if = j.at("skip_if");
    r.skipped = j.at("skipped");
    r.model = states_of(j.at("model"));
    r.rules = states_of(j.at("rules"));
    r.near = j.at("near");
    r.outputs = states_of(j.at("outputs"));
    const Json& c = j.at("counts");
    r.counts = {c.at("low"), c.at("fp32"), c.at("left"), c.at("casts"), c.at("bytes"), c.at("warnings")};
    if (j.at("key") != r.key()) return std::nullopt;
    return r;
  } catch (const Json::exception&) {
    return std::nullopt;  // damaged: made anew
  }
}

void write_record(const std::string& path, const Record& r) {
  const Json j = {{"format", kFormat},
                  {"key", r.key()},
                  {"tool", r.tool},
                  {"command", r.command},
                  {"skip_if", r.skip_if},
                  {"skipped", r.skipped},
                  {"counts",
                   {{"low", r.counts.low},
                    {"fp32", r.counts.fp32},
                    {"left", r.counts.left},
                    {"casts", r.counts.casts},
                    {"bytes", r.counts.bytes},
                    {"warnings", r.counts.warnings}}},
                  {"outputs", json_of(r.outputs)},
                  {"model", json_of(r.model)},
                  {"rules_hash", r.rules_hash()},
                  {"rules", json_of(r.rules)},
                  {"near", r.near}};
  // A name that is no UTF-8 is a text of its own kind; a record that cannot hold it is none, and the job is done again.
  const std::string text = j.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  emit::temporary::sweep(path);
  emit::OutputFile file(path);
  file.write_at(0, std::as_bytes(std::span(text.data(), text.size())));
  file.commit();
}

std::vector<std::string> all_records(const std::string& out) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(fs::path(out) / kFolder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".json") found.push_back(it->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Record record_of(const Job& job, const std::string& tool) {
  Record r;
  r.tool = tool;
  r.command = arguments(job, [](const std::string& path) { return path; });
  for (const SkipIf& s : job.skip_if) r.skip_if.push_back(s.op + ' ' + s.reason);
  if (!job.skip.empty()) r.skip_if.push_back(": " + job.skip);
  return r;
}

std::vector<std::string> nearer_rules(const std::vector<std::string>& reached, const Job& job,
                                      const std::string& installed, Files& files) {
  std::set<std::string> own(job.import_dirs.begin(), job.import_dirs.end());  // folders that others than ampc fill
  for (const std::string& path : reached) {
    if (!below(path, installed)) own.insert(fs::path(path).parent_path().string());
  }
  std::set<std::string> from = own, result;
  from.insert(installed);
  const std::set<std::string> known(reached.begin(), reached.end());
  for (const std::string& path : reached) {
    for (const std::string& folder : from) {
      const auto rest = below(path, folder);
      if (!rest) continue;
      for (const std::string& other : own) {
        std::string nearer = other.empty() || other == "." ? *rest : other + '/' + *rest;
        if (!known.contains(nearer) && files.exists(nearer)) result.insert(std::move(nearer));
      }
    }
  }
  return {result.begin(), result.end()};
}

std::string why_stale(const Job& job, const std::string& tool, const std::string& installed, Record& record,
                      Files& files, bool& refreshed) {
  const Record wanted = record_of(job, tool);
  if (record.tool != wanted.tool) return "another ampc";
  if (record.command != wanted.command || record.skip_if != wanted.skip_if) return "other options";
  const auto changed = [&](std::vector<FileState>& states) -> const FileState* {
    for (FileState& s : states) {
      std::optional<FileState> now;
      if (!files.same(s, now)) return &s;
      if (!now || *now == s) continue;
      s = *now;
      refreshed = true;
    }
    return nullptr;
  };
  for (auto* inputs : {&record.model, &record.rules}) {
    if (const FileState* s = changed(*inputs)) return fmt::format("'{}' has changed", s->path);
  }
  if (record.skipped.empty()) {
    if (const FileState* s = changed(record.outputs))
      return fmt::format("'{}' {}", s->path, files.exists(s->path) ? "is not what was written" : "is gone");
    if (record.outputs.empty()) return "new";
  }
  std::vector<std::string> reached;
  for (const FileState& s : record.rules) reached.push_back(s.path);
  if (nearer_rules(reached, job, installed, files) != record.near) return "imports may find other files";
  return {};
}

}  // namespace ampc::build
