// Messages as they arrive: a thread reads them, so that a request can be cancelled while another one is worked on.
#pragma once

#include <condition_variable>
#include <deque>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "ampc/lsp/transport.h"

namespace ampc::lsp {

class Inbox {
 public:
  explicit Inbox(std::istream& in);
  /// Waits for the end of the stream, or for the message `exit`.
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// The next message. Nothing where the last one was taken, or, without `wait`, where none has arrived yet.
  std::optional<Message> next(bool wait);
  /// No message will come any more.
  bool over() const;
  /// Whether the request was cancelled; forgets it.
  bool cancelled(const Json& id);

 private:
  void read(std::istream& in);

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> messages_;
  std::set<Json> cancelled_;
  bool ended_ = false;
  std::thread reader_;
};

}  // namespace ampc::lsp
