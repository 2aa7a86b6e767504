// A progress bar for a person at a terminal: one line on stderr, from the second second on. Nothing anywhere else.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

namespace ampc::driver {

/// How far a stage of the work is.
struct ProgressState {
  enum class Unit : std::uint8_t { bytes, nodes };
  std::string_view label;
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // 0: not known
  Unit unit = Unit::bytes;
  double seconds = 0;  // since the stage began
};

/// The line, at most `width` columns: "casting weights [=====>    ]  52%  1.2 GiB of 2.3 GiB  810 MiB/s".
std::string progress_line(const ProgressState& state, std::size_t width);

/// True where stderr is a terminal that can redraw a line.
bool stderr_is_terminal();

class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  using Unit = ProgressState::Unit;

  /// Draws on stderr where that is a terminal and `enabled`.
  explicit Progress(bool enabled = true);
  /// Draws on `out` by `clock`; `width` in columns.
  Progress(std::ostream& out, Clock clock, std::size_t width);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Begins a stage; work of other threads on the one before has ended.
  void begin(std::string_view label, std::uint64_t total, Unit unit);
  /// More is done. From any thread; cheap enough to call for every chunk or every few hundred nodes.
  void add(std::uint64_t amount);
  /// Takes the line away, for other text to follow. A later add() may draw again.
  void clear();

 private:
  void draw(std::chrono::steady_clock::time_point now);

  std::ostream* out_ = nullptr;  // null: draws nothing
  Clock clock_;
  std::size_t width_ = 0;
  std::chrono::steady_clock::time_point created_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;  // guards what follows, and the stream
  std::string label_;
  std::uint64_t total_ = 0;
  Unit unit_ = Unit::bytes;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point drawn_;
  bool visible_ = false;
};

}  // namespace ampc::driver
