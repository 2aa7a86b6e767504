#include "ampc/lsp/inbox.h"

#include <utility>

namespace ampc::lsp {
namespace {

bool is(const Message& message, const char* method) {
  return message.body.is_object() && message.body.contains("method") && message.body["method"] == method;
}

}  // namespace

Inbox::Inbox(std::istream& in) : reader_([this, &in] { read(in); }) {}

Inbox::~Inbox() { reader_.join(); }

void Inbox::read(std::istream& in) {
  bool last = false;
  while (!last) {
    std::optional<Message> message;
    try {
      message = read_message(in);
    } catch (const std::bad_alloc&) {
      message = Message{{}, "the message does not fit into memory"};
    }
    const std::lock_guard lock(mutex_);
    last = !message || is(*message, "exit");
    if (message && is(*message, "$/cancelRequest")) {
      const Json params = message->body.value("params", Json());
      constexpr std::size_t kMost = 1000;  // of requests that were answered before they were cancelled
      if (cancelled_.size() >= kMost) cancelled_.clear();
      if (params.is_object() && params.contains("id")) cancelled_.insert(params["id"]);
    } else if (message) {
      messages_.push_back(std::move(*message));
    }
    ended_ = last;
    arrived_.notify_one();
  }
}

std::optional<Message> Inbox::next(bool wait) {
  std::unique_lock lock(mutex_);
  if (wait) arrived_.wait(lock, [this] { return ended_ || !messages_.empty(); });
  if (messages_.empty()) return std::nullopt;
  Message result = std::move(messages_.front());
  messages_.pop_front();
  return result;
}

bool Inbox::over() const {
  const std::lock_guard lock(mutex_);
  return ended_ && messages_.empty();
}

bool Inbox::cancelled(const Json& id) {
  const std::lock_guard lock(mutex_);
  return cancelled_.erase(id) != 0;
}

}  // namespace ampc::lsp
