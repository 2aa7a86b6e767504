// The files that the editor has open, as they are there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ampc/lsp/text.h"

namespace ampc::lsp {

struct Document {
  std::string uri;      // as the editor spells it
  std::string path;     // of a URI that is no file's, the URI
  std::string text;     // without a byte order mark
  bool marked = false;  // the editor has one
  Json version;

  Lines lines(Encoding encoding) const { return {text, encoding, marked}; }
};

/// Throws Json::exception where what it is given is not as the protocol has it.
class Documents {
 public:
  explicit Documents(const Encoding& encoding) : encoding_(encoding) {}

  /// Each gives the document, nullptr where it is not open.
  const Document* open(const Json& params);
  const Document* change(const Json& params);
  const Document* find(const std::string& uri) const;
  const Document* with_path(const std::string& path) const;
  void close(const std::string& uri);

  const std::map<std::string, Document>& all() const { return by_uri_; }
  /// The editor's spelling of a file that is open there, else our own.
  std::string uri(const std::string& path) const;
  /// Of a file with this text: where it is open there, as the editor counts.
  Lines lines(const std::string& path, std::string_view text) const;

 private:
  const Encoding& encoding_;
  std::map<std::string, Document> by_uri_;
  std::map<std::string, std::string> uri_by_identity_;
};

}  // namespace ampc::lsp
