// What is kept of every output: what it was made from and how. A build goes by it to do nothing twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ampc/build/file_state.h"
#include "ampc/build/jobs.h"

namespace ampc::build {

struct Counts {
  std::uint64_t low = 0, fp32 = 0, left = 0, casts = 0, bytes = 0, warnings = 0;
};

struct Record {
  std::string tool;                  // version and hash of the program
  std::vector<std::string> command;  // Job's command line
  std::vector<std::string> skip_if;  // operators whose models are skipped
  std::string skipped;               // the reason; empty where there is an output
  std::vector<FileState> model;      // and its data files
  std::vector<FileState> rules;      // every rule file reached
  std::vector<std::string> near;     // files that stand where an import could have found them, and did not
  std::vector<FileState> outputs;    // and its data file; of a skipped job, what an earlier build made
  Counts counts;

  std::string rules_hash() const;
  /// Everything that the output depends on.
  std::string key() const;
};

/// Where the record of an output below `out` lies.
std::string record_path(const std::string& out, const std::string& output);
/// Nothing where there is none, or none that this program reads.
std::optional<Record> read_record(const std::string& path);
/// Whole or not at all. Throws IoError.
void write_record(const std::string& path, const Record& record);
/// All records below `out`.
std::vector<std::string> all_records(const std::string& out);

/// A record of what a job is, with nothing in it yet of what it read.
Record record_of(const Job& job, const std::string& tool);

/// Files that would be read in place of a reached rule file if they were there: imports are looked for in several
/// folders. Those that are there now.
std::vector<std::string> nearer_rules(const std::vector<std::string>& reached, const Job& job,
                                      const std::string& installed, Files& files);

/// Why the job has to be done, "the model has changed"; empty where nothing is to be done. `record` is brought up to
/// date where files look otherwise and are the same; `refreshed` says that it was.
std::string why_stale(const Job& job, const std::string& tool, const std::string& installed, Record& record,
                      Files& files, bool& refreshed);

}  // namespace ampc::build
