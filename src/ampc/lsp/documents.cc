#include "ampc/lsp/documents.h"

#include <utility>

namespace ampc::lsp {
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf";

// As rule files are read: everything else counts from behind the mark.
void set_text(Document& document, std::string text) {
  document.marked = text.starts_with(kMark);
  if (document.marked) text.erase(0, kMark.size());
  document.text = std::move(text);
}

}  // namespace

const Document* Documents::open(const Json& params) {
  const Json& given = params.at("textDocument");
  Document document;
  document.uri = given.at("uri").get<std::string>();
  document.path = path_of(document.uri);
  set_text(document, given.at("text").get<std::string>());
  document.version = given.value("version", Json());
  uri_by_identity_[identity(document.path)] = document.uri;
  return &(by_uri_[document.uri] = std::move(document));
}

const Document* Documents::change(const Json& params) {
  const auto at = by_uri_.find(params.at("textDocument").at("uri").get<std::string>());
  if (at == by_uri_.end()) return nullptr;
  // All changes or none: half of them would leave another text than the editor's.
  std::string text = (at->second.marked ? std::string(kMark) : std::string()) + at->second.text;
  for (const Json& change : params.at("contentChanges")) {
    const auto& replacement = change.at("text").get_ref<const std::string&>();
    if (!change.contains("range") || change["range"].is_null()) {
      text = replacement;
      continue;
    }
    const Lines lines(text, encoding_);
    const std::size_t begin = lines.offset(change["range"].at("start"));
    const std::size_t end = lines.offset(change["range"].at("end"));
    text.replace(std::min(begin, end), std::max(begin, end) - std::min(begin, end), replacement);
  }
  set_text(at->second, std::move(text));
  at->second.version = params["textDocument"].value("version", Json());
  return &at->second;
}

const Document* Documents::find(const std::string& uri) const {
  const auto at = by_uri_.find(uri);
  return at == by_uri_.end() ? nullptr : &at->second;
}

const Document* Documents::with_path(const std::string& path) const {
  const auto at = uri_by_identity_.find(identity(path));
  return at == uri_by_identity_.end() ? nullptr : find(at->second);
}

void Documents::close(const std::string& uri) {
  const auto at = by_uri_.find(uri);
  if (at == by_uri_.end()) return;
  uri_by_identity_.erase(identity(at->second.path));
  by_uri_.erase(at);
}

Lines Documents::lines(const std::string& path, std::string_view text) const {
  const Document* open = with_path(path);
  return {text, encoding_, open != nullptr && open->marked};
}

std::string Documents::uri(const std::string& path) const {
  const Document* open = with_path(path);
  return open != nullptr ? open->uri : uri_of(path);
}

}  // namespace ampc::lsp
