#include "ampc/diag/diagnostic.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ampc/diag/utf8.h"

namespace ampc {

FileId SourceMap::add(std::string path, std::string text) {
  File file{std::move(path), std::move(text), {0}};
  for (std::size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') file.line_starts.push_back(static_cast<std::uint32_t>(i + 1));
  }
  files_.push_back(std::move(file));
  return static_cast<FileId>(files_.size() - 1);
}

const std::string& SourceMap::path(FileId file) const { return files_.at(file).path; }

std::string_view SourceMap::text(FileId file) const { return files_.at(file).text; }

SourceMap::Position SourceMap::position(FileId file, std::uint32_t offset) const {
  const File& f = files_.at(file);
  const auto end = static_cast<std::uint32_t>(f.text.size());
  offset = std::min(offset, end);
  const auto next = std::upper_bound(f.line_starts.begin(), f.line_starts.end(), offset);
  const auto line = static_cast<std::uint32_t>(next - f.line_starts.begin());
  const std::uint32_t start = f.line_starts[line - 1];
  const std::string_view before = std::string_view(f.text).substr(start, offset - start);
  return {line, static_cast<std::uint32_t>(utf8::count(before)) + 1};
}

std::string_view SourceMap::line_text(FileId file, std::uint32_t line) const {
  const File& f = files_.at(file);
  if (line == 0 || line > f.line_starts.size()) return {};
  const std::uint32_t begin = f.line_starts[line - 1];
  std::size_t end = line < f.line_starts.size() ? f.line_starts[line] - 1 : f.text.size();
  if (end > begin && f.text[end - 1] == '\r') --end;
  return std::string_view(f.text).substr(begin, end - begin);
}

std::string SourceMap::where(const Span& span) const {
  if (!span.valid()) return {};
  const Position p = position(span.file, span.begin);
  return path(span.file) + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
}

Diagnostic& Diagnostic::at(Span s, std::string text) {
  span = s;
  label = std::move(text);
  return *this;
}

Diagnostic& Diagnostic::in(std::string where) {
  place = std::move(where);
  return *this;
}

Diagnostic& Diagnostic::also(Span s, std::string text) {
  labels.push_back({s, std::move(text)});
  return *this;
}

Diagnostic& Diagnostic::note(std::string text) {
  notes.push_back(std::move(text));
  return *this;
}

Diagnostic& Diagnostic::fix(std::string text) {
  help = std::move(text);
  return *this;
}

Diagnostic& Diagnostic::edit(Span s, std::string text) {
  edits.push_back({s, std::move(text)});
  return *this;
}

Diagnostic& Diagnostics::report(Severity severity, std::string_view code, std::string message) {
  const std::lock_guard lock(mutex_);
  Diagnostic& d = list_.emplace_back();
  d.severity = severity;
  d.code = code;
  d.message = std::move(message);
  apply_policy(d);
  return d;
}

void Diagnostics::set_policy(WarningPolicy policy) {
  const std::lock_guard lock(mutex_);
  policy_ = std::move(policy);
}

WarningPolicy Diagnostics::policy() const {
  const std::lock_guard lock(mutex_);
  return policy_;
}

void Diagnostics::apply_policy(Diagnostic& d) const {
  if (d.severity == Severity::error) return;
  d.hidden = policy_.off.contains(d.code);
  if (!d.hidden && policy_.errors && d.severity == Severity::warning) d.severity = Severity::error;
}

namespace {

std::size_t count(const std::deque<Diagnostic>& list, Severity severity) {
  return static_cast<std::size_t>(std::count_if(
      list.begin(), list.end(), [&](const Diagnostic& d) { return !d.hidden && d.severity == severity; }));
}

}  // namespace

void Diagnostics::take(Diagnostics& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  for (Diagnostic& d : other.list_) {
    apply_policy(d);
    list_.push_back(std::move(d));
  }
  other.list_.clear();
}

std::size_t Diagnostics::errors() const {
  const std::lock_guard lock(mutex_);
  return count(list_, Severity::error);
}

std::size_t Diagnostics::warnings() const {
  const std::lock_guard lock(mutex_);
  return count(list_, Severity::warning);
}

std::vector<const Diagnostic*> Diagnostics::sorted(const SourceMap& sources) const {
  const std::lock_guard lock(mutex_);
  std::vector<const Diagnostic*> result;
  result.reserve(list_.size());
  for (const Diagnostic& d : list_) {
    if (!d.hidden) result.push_back(&d);
  }
  // A file's path, not its number, so that the order in which files were read does not show.
  const auto path = [&](const Diagnostic& d) {
    return d.span.valid() ? std::string_view(sources.path(d.span.file)) : std::string_view();
  };
  const auto key = [&](const Diagnostic& d) {
    return std::tuple(!d.span.valid(), path(d), d.span.begin, std::string_view(d.place), d.severity,
                      std::string_view(d.code), std::string_view(d.message), d.span.end, std::string_view(d.label),
                      std::string_view(d.help));
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](const Diagnostic* a, const Diagnostic* b) { return key(*a) < key(*b); });
  const auto same = [&](const Diagnostic* a, const Diagnostic* b) { return key(*a) == key(*b); };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  return result;
}

Shown shown(const Diagnostics& diagnostics, const SourceMap& sources, const RenderOptions& options) {
  Shown result;
  std::size_t errors = 0;
  for (const Diagnostic* d : diagnostics.sorted(sources)) {
    if (options.quiet_notes && d->severity == Severity::note) continue;
    if (d->severity == Severity::error && options.max_errors != 0 && ++errors > options.max_errors) {
      ++result.more_errors;
      continue;
    }
    result.list.push_back(d);
  }
  return result;
}

}  // namespace ampc
