// Diagnostics as a terminal shows them.
#include <algorithm>
#include <ostream>
#include <string>

#include "ampc/diag/diagnostic.h"
#include "ampc/diag/utf8.h"

namespace ampc {

namespace {

class Renderer {
 public:
  Renderer(std::ostream& out, const SourceMap& sources, const RenderOptions& options)
      : out_(out), sources_(sources), colour_(options.colour), widest_(std::max<std::size_t>(options.width, 20)) {}

  void write(const Diagnostic& d) {
    const std::string where = d.span.valid() ? sources_.where(d.span) : d.place;
    if (!where.empty()) out_ << paint(where, kBold) << ": ";
    std::string head = d.severity == Severity::error ? "error" : d.severity == Severity::warning ? "warning" : "note";
    if (!d.code.empty()) head += "[" + d.code + "]";
    out_ << paint(head + ":", severity_colour(d.severity)) << " " << paint(d.message, kBold) << "\n";
    if (d.span.valid()) {
      if (!d.place.empty()) out_ << "  in " << d.place << "\n";
      excerpt(d.span, d.label, severity_colour(d.severity));
    }
    for (const Label& label : d.labels) {
      if (!label.span.valid()) continue;
      out_ << "  " << sources_.where(label.span) << ": " << label.text << "\n";
      excerpt(label.span, {}, kBlue);
    }
    for (const std::string& note : d.notes) out_ << "  " << paint("note:", kBlue) << " " << note << "\n";
    if (!d.help.empty()) out_ << "  " << paint("help:", kGreen) << " " << d.help << "\n";
  }

 private:
  static constexpr std::string_view kBold = "1";
  static constexpr std::string_view kBlue = "1;34";
  static constexpr std::string_view kGreen = "1;32";

  static std::string_view severity_colour(Severity severity) {
    return severity == Severity::error ? "1;31" : severity == Severity::warning ? "1;35" : kBlue;
  }

  std::string paint(std::string_view text, std::string_view colour) const {
    if (!colour_) return std::string(text);
    return "\033[" + std::string(colour) + "m" + std::string(text) + "\033[0m";
  }

  // The line and a row of carets under the span; of a span over several lines, the first.
  void excerpt(const Span& span, std::string_view label, std::string_view colour) {
    const SourceMap::Position at = sources_.position(span.file, span.begin);
    const std::string_view line = sources_.line_text(span.file, at.line);
    const std::string_view text = sources_.text(span.file);
    const std::uint32_t end = std::clamp(span.end, span.begin, static_cast<std::uint32_t>(text.size()));
    std::string_view marked = text.substr(std::min<std::size_t>(span.begin, text.size()), end - span.begin);
    marked = marked.substr(0, marked.find_first_of("\r\n"));
    const std::size_t length = utf8::count(line);
    const std::size_t column = std::min<std::size_t>(at.column - 1, length);
    std::size_t carets = std::max<std::size_t>(1, utf8::count(marked));
    // A window into a long line, so that the place stays in sight.
    std::size_t first = 0;
    if (length > widest_ && column > widest_ / 2) first = std::min(column - widest_ / 2, length - widest_);
    const std::size_t last = std::min(length, first + widest_);
    carets = std::min(carets, std::max<std::size_t>(1, last - column));

    const std::string number = std::to_string(at.line);
    const std::string gutter(number.size() + 2, ' ');
    const std::string_view before = first != 0 ? "..." : "";
    out_ << "  " << number << " | " << before << shown(line, first, last) << (last < length ? "..." : "") << "\n";
    out_ << gutter << " | " << std::string(before.size() + column - first, ' ')
         << paint(std::string(carets, '^') + (label.empty() ? "" : " ") + std::string(label), colour) << "\n";
  }

  // Code points [first, last) of a line; tabs and other control characters as one space, so that carets stand right.
  static std::string shown(std::string_view line, std::size_t first, std::size_t last) {
    std::string result;
    std::size_t index = 0;
    for (const char c : line) {
      if (utf8::begins(c)) ++index;
      if (index <= first) continue;
      if (index > last) break;
      const auto byte = static_cast<unsigned char>(c);
      result += byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
    return result;
  }

  std::ostream& out_;
  const SourceMap& sources_;
  bool colour_;
  std::size_t widest_;
};

}  // namespace

void render(std::ostream& out, const Diagnostics& diagnostics, const SourceMap& sources, const RenderOptions& options) {
  Renderer renderer(out, sources, options);
  const Shown list = shown(diagnostics, sources, options);
  for (const Diagnostic* d : list.list) renderer.write(*d);
  if (list.more_errors != 0) {
    out << list.more_errors << (list.more_errors == 1 ? " more error is" : " more errors are")
        << " not shown; --max-errors 0 shows all\n";
  }
}

}  // namespace ampc
