#include "ampc/diag/mend.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace ampc {
namespace {

constexpr std::string_view kBlanks = " \t";

// Of something that goes: nothing else in its lines stays behind empty, and no two blanks meet.
Edit tidied(Edit edit, std::string_view text) {
  if (!edit.text.empty()) return edit;
  std::size_t begin = edit.span.begin;
  std::size_t end = std::min(text.find_first_not_of(kBlanks, edit.span.end), text.size());
  while (begin > 0 && kBlanks.find(text[begin - 1]) != std::string_view::npos) --begin;
  const bool at_head = begin == 0 || text[begin - 1] == '\n';
  const bool at_end = end == text.size() || text[end] == '\n' || text[end] == '\r';
  if (at_head && at_end) {
    end = std::min(text.find('\n', end), text.size());
    if (end < text.size()) ++end;
  } else if (at_end) {
    end = edit.span.end;  // a line's last word: the blanks before it go
  } else {
    // The blanks behind it go with a word of its own; of a list's item the edit says itself what goes.
    if (begin == edit.span.begin && !at_head) end = edit.span.end;
    begin = edit.span.begin;
  }
  edit.span.begin = static_cast<std::uint32_t>(begin);
  edit.span.end = static_cast<std::uint32_t>(end);
  return edit;
}

// Also where both insert at one place: which comes first, nobody said.
bool meet(const Span& a, const Span& b) {
  if (a.begin == b.begin) return true;
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

std::vector<Edit> edits_of(const Diagnostic& diagnostic, std::string_view text) {
  std::vector<Edit> result;
  for (const Edit& e : diagnostic.edits) result.push_back(tidied(e, text));
  return result;
}

Mended mend_in_rounds(std::string text, const std::function<Mended(const std::string& text)>& round) {
  constexpr int kRounds = 20;  // not for ever
  Mended result{std::move(text), 0, 0};
  for (int i = 0; i < kRounds; ++i) {
    Mended mended = round(result.text);
    if (mended.fixes == 0) break;
    mended.fixes += result.fixes;
    result = std::move(mended);
  }
  return result;
}

Mended mend(std::string_view text, FileId file, const std::vector<const Diagnostic*>& diagnostics) {
  Mended result;
  std::vector<Edit> accepted;
  // What a line says is not known where its syntax is wrong; what it seems to mean is mended when that has been.
  const auto line_of = [&](std::uint32_t at) { return text.rfind('\n', at == 0 ? 0 : at - 1); };
  const auto is_syntax = [](const Diagnostic& d) { return d.code < "AMPC0100"; };
  std::set<std::size_t> unread;
  for (const Diagnostic* d : diagnostics) {
    if (d->span.file == file && is_syntax(*d)) unread.insert(line_of(d->span.begin));
  }
  for (const Diagnostic* d : diagnostics) {
    if (d->edits.empty()) continue;
    if (!is_syntax(*d) && d->span.file == file && unread.contains(line_of(d->span.begin))) continue;
    if (std::any_of(d->edits.begin(), d->edits.end(), [&](const Edit& e) { return e.span.file != file; })) continue;
    const std::vector<Edit> mine = edits_of(*d, text);
    const bool free = std::none_of(mine.begin(), mine.end(), [&](const Edit& e) {
      return std::any_of(accepted.begin(), accepted.end(), [&](const Edit& a) { return meet(a.span, e.span); });
    });
    ++(free ? result.fixes : result.refused);
    if (free) accepted.insert(accepted.end(), mine.begin(), mine.end());
  }
  std::sort(accepted.begin(), accepted.end(), [](const Edit& a, const Edit& b) {
    return std::tie(a.span.begin, a.span.end) < std::tie(b.span.begin, b.span.end);
  });
  std::size_t done = 0;
  for (const Edit& e : accepted) {
    result.text += text.substr(done, e.span.begin - done);
    result.text += e.text;
    done = e.span.end;
  }
  result.text += text.substr(done);
  return result;
}

}  // namespace ampc
