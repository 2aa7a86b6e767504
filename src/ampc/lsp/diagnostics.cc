// textDocument/publishDiagnostics: what `ampc check` tells, where the editor shows it.
#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "ampc/lsp/feature.h"

namespace ampc::lsp {
namespace {

/// The diagnostics of one root.
class Publisher {
 public:
  Publisher(const std::string& root, const Checked& checked, const Documents& documents, Encoding encoding,
            std::map<std::string, Json>& result)
      : root_(root), checked_(checked), documents_(documents), encoding_(encoding), result_(result) {}

  void run() {
    for (const Diagnostic* d : checked_.diagnostics.sorted(checked_.sources)) {
      const bool placed = d->span.valid();
      Json& list = result_[placed ? documents_.uri(checked_.sources.path(d->span.file)) : root_];
      if (list.is_null()) list = Json::array();
      Json one = object_of(*d);
      // Two roots that import one file tell the same of it.
      if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(std::move(one));
    }
  }

 private:
  Json object_of(const Diagnostic& d) {
    std::string text = d.message;
    if (!d.label.empty()) text += ": " + d.label;
    for (const std::string& note : d.notes) text += "\nnote: " + note;
    if (!d.help.empty()) text += "\nhelp: " + d.help;
    Json result = {{"range", d.span.valid() ? range(d.span) : Lines("", encoding_).range(0, 0)},
                   {"severity", d.severity == Severity::error     ? 1
                                : d.severity == Severity::warning ? 2
                                                                  : 3},
                   {"code", d.code},
                   {"source", "ampc"},
                   {"message", std::move(text)}};
    for (const Label& label : d.labels) {
      if (!label.span.valid()) continue;
      const std::string uri = documents_.uri(checked_.sources.path(label.span.file));
      result["relatedInformation"].push_back(
          {{"location", {{"uri", uri}, {"range", range(label.span)}}}, {"message", label.text}});
    }
    return result;
  }

  Json range(const Span& span) {
    std::unique_ptr<Lines>& lines = lines_[span.file];
    if (lines == nullptr) {
      lines =
          std::make_unique<Lines>(documents_.lines(checked_.sources.path(span.file), checked_.sources.text(span.file)));
    }
    return lines->range(span.begin, span.end);
  }

  const std::string& root_;
  const Checked& checked_;
  const Documents& documents_;
  Encoding encoding_;
  std::map<std::string, Json>& result_;
  std::map<FileId, std::unique_ptr<Lines>> lines_;
};

}  // namespace

std::map<std::string, Json> diagnostics_by_uri(const Workspace& workspace, const Documents& documents,
                                               Encoding encoding) {
  std::map<std::string, Json> result;
  for (const auto& [uri, checked] : workspace.checked()) {
    Publisher(uri, *checked, documents, encoding, result).run();
  }
  return result;
}

}  // namespace ampc::lsp
