#include "ampc/driver/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include <fmt/format.h>

namespace ampc::driver {
namespace {

constexpr std::chrono::milliseconds kQuiet{1000};   // work shorter than this shows nothing
constexpr std::chrono::milliseconds kBetween{100};  // from one drawing to the next
constexpr std::size_t kLeastBar = 10;
constexpr std::size_t kMostBar = 40;
constexpr std::size_t kDefaultWidth = 80;
constexpr std::string_view kEraseLine = "\r\x1b[K";

std::string amount(double value, ProgressState::Unit unit) {
  if (unit == ProgressState::Unit::nodes) return fmt::format("{:.0f}", value);
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t at = 0;
  // 1023.95 would be shown as 1024.0.
  while (value >= 1023.95 && at + 1 < std::size(kUnits)) {
    value /= 1024;
    ++at;
  }
  return at == 0 ? fmt::format("{:.0f} B", value) : fmt::format("{:.1f} {}", value, kUnits[at]);
}

std::string numbers(const ProgressState& state) {
  std::string text = amount(static_cast<double>(state.done), state.unit);
  if (state.total != 0) text += fmt::format(" of {}", amount(static_cast<double>(state.total), state.unit));
  if (state.unit == ProgressState::Unit::nodes) text += " nodes";
  if (state.seconds > 0) {
    text += fmt::format("  {}/s", amount(static_cast<double>(state.done) / state.seconds, state.unit));
  }
  return text;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// Columns that UTF-8 text takes, one for a character.
std::size_t columns(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_character));
}

/// Cuts to `width` columns, at the end of a character.
void cut(std::string& text, std::size_t width) {
  std::size_t at = 0;
  for (; at < text.size() && (width != 0 || continues_character(text[at])); ++at) {
    if (!continues_character(text[at])) --width;
  }
  text.resize(at);
}

std::size_t terminal_width() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultWidth;
}

}  // namespace

std::string progress_line(const ProgressState& state, std::size_t width) {
  std::string line(state.label);
  // A file's name may hold anything; a terminal obeys control characters.
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, '?');
  if (state.total == 0) {
    line += fmt::format("  {}", numbers(state));
  } else {
    const double share = std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
    const std::string tail = fmt::format(" {:3}%  {}", static_cast<int>(share * 100), numbers(state));
    const std::size_t fixed = columns(line) + 3 + tail.size();  // a space and the brackets
    if (width >= fixed + kLeastBar) {
      const std::size_t length = std::min(kMostBar, width - fixed);
      const auto filled = static_cast<std::size_t>(share * static_cast<double>(length));
      std::string bar(filled, '=');
      if (filled < length) bar += '>';
      bar.resize(length, ' ');
      line += fmt::format(" [{}]", bar);
    }
    line += tail;
  }
  cut(line, width);
  return line;
}

bool stderr_is_terminal() {
  if (isatty(STDERR_FILENO) == 0) return false;
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) != "dumb";
}

Progress::Progress(bool enabled) {
  if (!enabled || !stderr_is_terminal()) return;
  out_ = &std::cerr;
  clock_ = [] { return std::chrono::steady_clock::now(); };
  width_ = terminal_width() - 1;  // a full last column would wrap
  created_ = begun_ = drawn_ = clock_();
}

Progress::Progress(std::ostream& out, Clock clock, std::size_t width)
    : out_(&out), clock_(std::move(clock)), width_(width) {
  created_ = begun_ = drawn_ = clock_();
}

Progress::~Progress() { clear(); }

void Progress::begin(std::string_view label, std::uint64_t total, Unit unit) {
  if (out_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  label_ = label;
  total_ = total;
  unit_ = unit;
  begun_ = clock_();
  done_.store(0, std::memory_order_relaxed);
}

void Progress::add(std::uint64_t amount) {
  if (out_ == nullptr) return;
  done_.fetch_add(amount, std::memory_order_relaxed);
  const auto now = clock_();
  if (now - created_ < kQuiet) return;
  // Whoever finds another thread drawing goes on with its work.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || (visible_ && now - drawn_ < kBetween)) return;
  draw(now);
}

void Progress::draw(std::chrono::steady_clock::time_point now) {
  const std::chrono::duration<double> seconds = now - begun_;
  const ProgressState state{label_, done_.load(std::memory_order_relaxed), total_, unit_, seconds.count()};
  *out_ << kEraseLine << progress_line(state, width_) << std::flush;
  drawn_ = now;
  visible_ = true;
}

void Progress::clear() {
  if (out_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (visible_) *out_ << kEraseLine << std::flush;
  visible_ = false;
}

}  // namespace ampc::driver
