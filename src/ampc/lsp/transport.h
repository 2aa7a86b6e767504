// JSON-RPC messages on a stream of bytes, framed by `Content-Length` as the Language Server Protocol has it.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace ampc::lsp {

using Json = nlohmann::json;

/// Codes of JSON-RPC's and LSP's errors.
enum class ErrorCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  not_initialized = -32002,
  request_cancelled = -32800,
};

struct Message {
  Json body;          // where `fault` is empty
  std::string fault;  // what is wrong with the frame or with its content: "the content is no JSON"
};

/// The next message; nothing where the stream ends. Behind a frame that is none, reading goes on at the next line that
/// begins with `Content-Length`.
std::optional<Message> read_message(std::istream& in);

/// Writes one message and flushes.
void write_message(std::ostream& out, const Json& body);

}  // namespace ampc::lsp
