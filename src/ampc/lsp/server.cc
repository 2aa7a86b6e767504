#include "ampc/lsp/server.h"

#include <exception>
#include <istream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "ampc/lsp/documents.h"
#include "ampc/lsp/feature.h"
#include "ampc/lsp/inbox.h"
#include "ampc/lsp/workspace.h"

namespace ampc::lsp {
namespace {

struct Failure {
  ErrorCode code;
  std::string message;
};

class Server {
 public:
  Server(std::istream& in, std::ostream& out, const lang::CompileOptions& options, const std::string& version)
      : out_(out), options_(options), version_(version), inbox_(in) {}

  bool run() {
    for (;;) {
      // Checking waits until no message does, so that it never holds up an answer.
      std::optional<Message> message = inbox_.next(!workspace_.dirty());
      if (message) {
        if (handle(*message)) break;
      } else if (inbox_.over()) {
        break;
      } else {
        guarded([&] { workspace_.check_one(); });
        if (!workspace_.dirty()) publish();
      }
    }
    return shut_down_;
  }

 private:
  using Handler = Json (Server::*)(const Json& params);

  // --- Messages ---

  /// True where the client leaves.
  bool handle(const Message& message) {
    const Json& body = message.body;
    if (!message.fault.empty()) {
      fail(nullptr, {ErrorCode::parse_error, message.fault});
      return false;
    }
    const bool method = body.is_object() && body.contains("method") && body["method"].is_string();
    const bool has_id = body.is_object() && body.contains("id");
    const Json id = has_id ? body["id"] : Json();
    if (!method) {
      // An answer to a request of ours would have a result: there are none.
      if (body.is_object() && (body.contains("result") || body.contains("error"))) return false;
      fail(id.is_string() || id.is_number_integer() ? id : Json(),
           {ErrorCode::invalid_request, "this is no request and no notification"});
      return false;
    }
    const auto& name = body["method"].get_ref<const std::string&>();
    const Json params = body.value("params", Json::object());
    if (!has_id) return notice(name, params);
    if (!id.is_string() && !id.is_number_integer()) {
      fail(nullptr, {ErrorCode::invalid_request, "an id is a number or a text"});
      return false;
    }
    request(name, id, params);
    return false;
  }

  void request(const std::string& method, const Json& id, const Json& params) {
    static const std::map<std::string, Handler, std::less<>> handlers = {
        {"initialize", &Server::initialize},
        {"shutdown", &Server::shutdown},
        {"textDocument/hover", &Server::on_hover},
        {"textDocument/completion", &Server::on_completion},
        {"textDocument/definition", &Server::on_definition},
        {"textDocument/documentSymbol", &Server::on_symbols},
        {"textDocument/formatting", &Server::on_formatting},
        {"textDocument/codeAction", &Server::on_code_action},
    };
    if (inbox_.cancelled(id)) return fail(id, {ErrorCode::request_cancelled, "the request was cancelled"});
    const auto at = handlers.find(method);
    if (!initialized_ && method != "initialize")
      return fail(id, {ErrorCode::not_initialized, "the first request is 'initialize'"});
    if (shut_down_) return fail(id, {ErrorCode::invalid_request, "the server is shut down"});
    if (at == handlers.end()) return fail(id, {ErrorCode::method_not_found, "no method is called '" + method + "'"});
    try {
      Json result = (this->*at->second)(params);
      write_message(out_, {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
    } catch (const Failure& f) {
      fail(id, f);
    } catch (const Json::exception& e) {
      fail(id,
           {ErrorCode::invalid_params, std::string("the parameters are not as the protocol has them: ") + e.what()});
    } catch (const std::exception& e) {
      fail(id, {ErrorCode::internal_error, e.what()});
    }
  }

  bool notice(const std::string& method, const Json& params) {
    if (method == "exit") return true;
    if (!initialized_ || shut_down_) return false;
    guarded([&] {
      if (method == "textDocument/didOpen") {
        workspace_.touch(documents_.open(params)->path);
      } else if (method == "textDocument/didChange") {
        if (const Document* d = documents_.change(params)) workspace_.touch(d->path);
      } else if (method == "textDocument/didClose") {
        close(params.at("textDocument").at("uri").get<std::string>());
      } else if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles") {
        workspace_.touch_all();  // what the disk has now is another file's import
      }
    });
    return false;
  }

  void fail(const Json& id, const Failure& f) {
    write_message(
        out_,
        {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(f.code)}, {"message", f.message}}}});
  }

  /// Does what has no answer; tells the client's log where it cannot be done.
  template <typename Do>
  void guarded(const Do& act) {
    try {
      act();
    } catch (const std::exception& e) {
      constexpr int kError = 1;
      write_message(out_, {{"jsonrpc", "2.0"},
                           {"method", "window/logMessage"},
                           {"params", {{"type", kError}, {"message", std::string("ampc: ") + e.what()}}}});
    }
  }

  // --- Lifecycle ---

  Json initialize(const Json& params) {
    if (initialized_) throw Failure{ErrorCode::invalid_request, "'initialize' was requested already"};
    static const std::map<std::string_view, Encoding> known = {
        {"utf-8", Encoding::utf8}, {"utf-16", Encoding::utf16}, {"utf-32", Encoding::utf32}};
    std::string encoding = "utf-16";  // every client's
    const Json::json_pointer wanted("/capabilities/general/positionEncodings");
    if (params.is_object() && params.contains(wanted) && params[wanted].is_array()) {
      for (const Json& name : params[wanted]) {
        if (!name.is_string() || !known.contains(name.get_ref<const std::string&>())) continue;
        encoding = name.get<std::string>();
        break;
      }
    }
    encoding_ = known.at(encoding);
    initialized_ = true;
    return {{"capabilities",
             {{"positionEncoding", encoding},
              {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
              {"hoverProvider", true},
              {"completionProvider", {{"triggerCharacters", {"\"", "/", ":", "(", ",", " "}}}},
              {"definitionProvider", true},
              {"documentSymbolProvider", true},
              {"documentFormattingProvider", true},
              {"codeActionProvider", {{"codeActionKinds", {"quickfix", "source.fixAll.ampc"}}}}}},
            {"serverInfo", {{"name", "ampc"}, {"version", version_}}}};
  }

  Json shutdown(const Json&) {
    shut_down_ = true;
    return nullptr;
  }

  // --- Documents ---

  void close(const std::string& uri) {
    const Document* document = documents_.find(uri);
    if (document == nullptr) return;
    const std::string path = document->path;
    workspace_.forget(*document);
    documents_.close(uri);
    workspace_.touch(path);  // others read the disk's again
    if (!workspace_.dirty()) publish();
  }

  /// Tells the diagnostics that are new, and of files that have none any more, none.
  void publish() {
    std::map<std::string, Json> now = diagnostics_by_uri(workspace_, documents_, encoding_);
    for (const auto& [uri, document] : documents_.all()) now.try_emplace(uri, Json::array());
    for (const auto& [uri, list] : published_) now.try_emplace(uri, Json::array());
    for (const auto& [uri, list] : now) {
      const Document* document = documents_.find(uri);
      Json params = {{"uri", uri}, {"diagnostics", list}};
      if (document != nullptr && document->version.is_number_integer()) params["version"] = document->version;
      const auto before = published_.find(uri);
      if (before != published_.end() && before->second == params) continue;
      write_message(out_, {{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", params}});
      if (list.empty() && document == nullptr) {
        published_.erase(uri);
      } else {
        published_[uri] = std::move(params);
      }
    }
  }

  // --- Features ---

  const Document& document_of(const Json& params) const {
    const auto& uri = params.at("textDocument").at("uri").get_ref<const std::string&>();
    const Document* document = documents_.find(uri);
    if (document == nullptr) throw Failure{ErrorCode::invalid_params, "the document is not open: " + uri};
    return *document;
  }

  View view_of(const Json& params) {
    const Document& document = document_of(params);
    return {document, workspace_.meaning(document), options_, documents_, encoding_, document.lines(encoding_)};
  }

  template <typename Feature>
  Json at_cursor(const Json& params, Feature feature) {
    const View view = view_of(params);
    return feature(Cursor{view, view.lines.offset(params.at("position"))});
  }

  Json on_hover(const Json& params) { return at_cursor(params, hover); }
  Json on_completion(const Json& params) { return at_cursor(params, completion); }
  Json on_definition(const Json& params) { return at_cursor(params, definition); }
  Json on_symbols(const Json& params) { return document_symbols(view_of(params)); }
  Json on_formatting(const Json& params) { return formatting(document_of(params), encoding_); }
  Json on_code_action(const Json& params) {
    const Document& document = document_of(params);
    if (workspace_.dirty()) {
      workspace_.check_all();
      publish();
    }
    return code_actions({document, workspace_, documents_, options_, encoding_, params});
  }

  std::ostream& out_;
  const lang::CompileOptions& options_;
  const std::string& version_;
  Encoding encoding_ = Encoding::utf16;
  bool initialized_ = false;
  bool shut_down_ = false;
  Documents documents_{encoding_};
  Workspace workspace_{options_, documents_};
  std::map<std::string, Json> published_;  // by URI, what the client shows
  Inbox inbox_;                            // the last, whose thread begins to read
};

}  // namespace

bool serve(std::istream& in, std::ostream& out, const lang::CompileOptions& options, const std::string& version) {
  in.tie(nullptr);  // reading flushes what it is tied to, here while another thread writes there
  return Server(in, out, options, version).run();
}

}  // namespace ampc::lsp
