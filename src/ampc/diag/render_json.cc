// Diagnostics for other programs: JSON lines.
#include <ostream>

#include <nlohmann/json.hpp>

#include "ampc/diag/catalog.h"
#include "ampc/diag/diagnostic.h"

namespace ampc {
namespace {

using Json = nlohmann::ordered_json;

std::string_view severity_name(Severity s) {
  return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note";
}

/// Lines and columns from 1, in code points; the end is behind the last one.
void add_place(Json& object, const Span& span, const SourceMap& sources) {
  const auto begin = sources.position(span.file, span.begin), end = sources.position(span.file, span.end);
  object["file"] = sources.path(span.file);
  object["line"] = begin.line;
  object["column"] = begin.column;
  object["end_line"] = end.line;
  object["end_column"] = end.column;
}

Json object_of(const Diagnostic& d, const SourceMap& sources) {
  Json object;
  object["severity"] = severity_name(d.severity);
  object["code"] = d.code;
  if (const CodeText* text = find_code(d.code)) object["name"] = text->name;
  object["message"] = d.message;
  if (d.span.valid()) add_place(object, d.span, sources);
  if (!d.place.empty()) object["place"] = d.place;
  if (!d.label.empty()) object["label"] = d.label;
  for (const Label& label : d.labels) {
    if (!label.span.valid()) continue;
    Json other;
    add_place(other, label.span, sources);
    other["message"] = label.text;
    object["related"].push_back(std::move(other));
  }
  if (!d.notes.empty()) object["notes"] = d.notes;
  if (!d.help.empty()) object["help"] = d.help;
  for (const Edit& edit : d.edits) {
    Json one;
    add_place(one, edit.span, sources);
    one["text"] = edit.text;
    object["edits"].push_back(std::move(one));
  }
  return object;
}

}  // namespace

void render_json(std::ostream& out, const Diagnostics& diagnostics, const SourceMap& sources,
                 const RenderOptions& options) {
  for (const Diagnostic* d : shown(diagnostics, sources, options).list) {
    // A file's name may hold bytes that are no UTF-8.
    out << object_of(*d, sources).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
}

}  // namespace ampc
