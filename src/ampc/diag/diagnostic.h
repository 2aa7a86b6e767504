// Diagnostics: what went wrong, where, and what to write instead. Every module reports through `Diagnostics`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ampc {

using FileId = std::uint32_t;
inline constexpr FileId kNoFile = 0xffffffffU;
inline constexpr FileId kRootFile = 0;  // the file that the user named is the first that is read

/// A half-open range of bytes in a source file.
struct Span {
  FileId file = kNoFile;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool valid() const { return file != kNoFile; }
};

/// Rule files as they were read, with line tables.
class SourceMap {
 public:
  FileId add(std::string path, std::string text);
  const std::string& path(FileId file) const;
  std::string_view text(FileId file) const;
  std::size_t size() const { return files_.size(); }

  struct Position {
    std::uint32_t line = 0;    // 1-based
    std::uint32_t column = 0;  // 1-based, in code points
  };
  Position position(FileId file, std::uint32_t offset) const;
  std::string_view line_text(FileId file, std::uint32_t line) const;
  /// "rules/default.amp:12:3"
  std::string where(const Span& span) const;

 private:
  struct File {
    std::string path;
    std::string text;
    std::vector<std::uint32_t> line_starts;
  };
  std::deque<File> files_;
};

enum class Severity : std::uint8_t { error, warning, note };

/// A second place that a diagnostic points at.
struct Label {
  Span span;
  std::string text;
};

/// What `ampc check --fix` writes in the place of a span; at an empty one it is put in.
struct Edit {
  Span span;
  std::string text;
};

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;     // stable, "AMPC0012"; see diag/codes.h
  std::string message;  // lower case, no full stop
  Span span;            // in a rule file; not valid for faults of a model or of the machine
  std::string label;    // text at the caret
  std::string place;    // used where there is no span: "model.onnx: node 'fc1' (MatMul), value 'x'"
  std::vector<Label> labels;
  std::vector<std::string> notes;
  std::string help;         // the way out
  std::vector<Edit> edits;  // the same for --fix, where it is safe: all of them are carried out, or none
  bool hidden = false;      // its name is turned off: neither shown nor counted

  Diagnostic& at(Span s, std::string text = {});
  Diagnostic& in(std::string where);
  Diagnostic& also(Span s, std::string text);
  Diagnostic& note(std::string text);
  Diagnostic& fix(std::string text);
  /// Adds an edit. Label or help tell a reader the same.
  Diagnostic& edit(Span s, std::string text);
};

/// What becomes of warnings and notes.
struct WarningPolicy {
  bool errors = false;        // warnings are errors
  std::set<std::string> off;  // codes whose warnings and notes are left out
};

/// Collects the diagnostics of a run. Safe to report to from several threads; rendering sorts, so order of reporting
/// never shows.
class Diagnostics {
 public:
  Diagnostic& report(Severity severity, std::string_view code, std::string message);
  Diagnostic& error(std::string_view code, std::string message) {
    return report(Severity::error, code, std::move(message));
  }
  Diagnostic& warning(std::string_view code, std::string message) {
    return report(Severity::warning, code, std::move(message));
  }
  Diagnostic& note(std::string_view code, std::string message) {
    return report(Severity::note, code, std::move(message));
  }

  /// Holds for what is reported from now on.
  void set_policy(WarningPolicy policy);
  WarningPolicy policy() const;

  /// Adds what `other` holds, and leaves it empty. No reference to one of those may be in use.
  void take(Diagnostics& other);

  bool failed() const { return errors() != 0; }
  std::size_t errors() const;
  std::size_t warnings() const;
  /// Sorted by file, place and code, equal ones once.
  std::vector<const Diagnostic*> sorted(const SourceMap& sources) const;

 private:
  void apply_policy(Diagnostic& d) const;

  mutable std::mutex mutex_;
  WarningPolicy policy_;
  std::deque<Diagnostic> list_;  // a deque: references handed out by report() stay valid
};

struct RenderOptions {
  bool colour = false;
  bool quiet_notes = false;    // errors and warnings only
  std::size_t width = 120;     // code points of a line that are shown of an excerpt
  std::size_t max_errors = 0;  // 0: all
};

/// Writes diagnostics as a terminal shows them: `file:line:column: error[AMPC0012]: message`, the line, a caret, notes.
void render(std::ostream& out, const Diagnostics& diagnostics, const SourceMap& sources,
            const RenderOptions& options = {});
/// One JSON object a line.
void render_json(std::ostream& out, const Diagnostics& diagnostics, const SourceMap& sources,
                 const RenderOptions& options = {});
/// One log of SARIF 2.1.0, for code review; `version` is the program's.
void render_sarif(std::ostream& out, const Diagnostics& diagnostics, const SourceMap& sources, std::string_view version,
                  const RenderOptions& options = {});
/// Those that are shown, sorted, and how many errors are left out.
struct Shown {
  std::vector<const Diagnostic*> list;
  std::size_t more_errors = 0;
};
Shown shown(const Diagnostics& diagnostics, const SourceMap& sources, const RenderOptions& options);

}  // namespace ampc
