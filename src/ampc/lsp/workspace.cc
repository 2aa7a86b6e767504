#include "ampc/lsp/workspace.h"

#include <optional>
#include <utility>

#include "ampc/lang/declare.h"

namespace ampc::lsp {

Workspace::Workspace(const lang::CompileOptions& options, const Documents& documents)
    : options_(options), documents_(documents), unsaved_([&documents](const std::string& path) {
        const Document* document = documents.with_path(path);
        return document == nullptr ? std::nullopt : std::optional(document->text);
      }) {}

void Workspace::touch(const std::string& path) {
  const std::string who = identity(path);
  meanings_.clear();
  for (const auto& [uri, document] : documents_.all()) {
    const auto at = checked_.find(uri);
    if (at == checked_.end() || at->second->files.contains(who) || identity(document.path) == who) dirty_.insert(uri);
  }
}

void Workspace::touch_all() {
  meanings_.clear();
  for (const auto& [uri, document] : documents_.all()) dirty_.insert(uri);
}

void Workspace::forget(const Document& document) {
  checked_.erase(document.uri);
  dirty_.erase(document.uri);
}

bool Workspace::dirty() const { return !dirty_.empty(); }

void Workspace::check_one() {
  if (dirty_.empty()) return;
  const std::string uri = *dirty_.begin();
  dirty_.erase(dirty_.begin());
  const Document* document = documents_.find(uri);
  if (document == nullptr) return;
  auto checked = std::make_unique<Checked>();
  lang::compile(document->path, options_, checked->sources, checked->diagnostics);
  checked->files.insert(identity(document->path));
  for (FileId file = 0; file < checked->sources.size(); ++file)
    checked->files.insert(identity(checked->sources.path(file)));
  checked_[uri] = std::move(checked);
}

void Workspace::check_all() {
  while (dirty()) check_one();
}

const Meaning& Workspace::meaning(const Document& document) {
  std::unique_ptr<Meaning>& result = meanings_[document.uri];
  if (result == nullptr) {
    auto made = std::make_unique<Meaning>();
    made->program = lang::load(document.path, options_, made->sources, made->ignored_);
    made->operators = lang::declare(made->program, made->ignored_);
    made->names = std::make_unique<lang::Names>(made->program, *made->operators, options_, made->ignored_);
    result = std::move(made);
  }
  return *result;
}

}  // namespace ampc::lsp
