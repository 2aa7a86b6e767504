#include "ampc/lang/format.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ampc/diag/utf8.h"
#include "ampc/lang/ast.h"
#include "ampc/lang/format_tokens.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang {
namespace {

using L = syntax::AmpLexer;
using layout::Comment;
using layout::Kind;
using layout::Token;

constexpr std::size_t kIndent = 2;

/// Where a statement's parts are among the tokens: [first, last], and its body's braces and statements.
struct Part {
  std::size_t first = 0, last = 0;
  std::size_t open = 0, close = 0;  // braces; 0: no body
  std::vector<Part> body;
  Kind kind = Kind::statement;
};

/// Finds the parts of a file by the places that its syntax tree has.
class Finder {
 public:
  explicit Finder(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::vector<Part> parts(const std::vector<ast::Statement>& statements) const {
    std::vector<Part> result;
    result.reserve(statements.size());
    for (const ast::Statement& s : statements) result.push_back(part(s));
    return result;
  }

 private:
  Part part(const ast::Statement& s) const {
    Part p = between(s.span);
    if (std::holds_alternative<ast::Extern>(s.node)) p.kind = Kind::declaration;
    if (const auto* n = std::get_if<ast::Scope>(&s.node)) p.body = parts(n->body);
    if (const auto* n = std::get_if<ast::Block>(&s.node)) p.body = parts(n->body);
    if (const auto* n = std::get_if<ast::LevelDefinition>(&s.node)) p.body = parts(n->body);
    if (const auto* n = std::get_if<ast::GraphPattern>(&s.node)) {
      for (const ast::GraphPattern::Step& step : n->steps) {
        p.body.push_back(between(step.span));
        p.body.back().kind = Kind::step;
      }
    }
    // A `}` is the end of the body that the first `{` begins: what follows it holds none.
    for (std::size_t i = p.first; i <= p.last; ++i) {
      if (tokens_[i].type == L::LBRACE && p.open == 0) p.open = i;
      if (tokens_[i].type == L::RBRACE) p.close = i;
    }
    return p;
  }

  Part between(const Span& span) const {
    const auto at = [&](std::uint32_t offset) {
      const auto it = std::lower_bound(tokens_.begin(), tokens_.end(), offset,
                                       [](const Token& t, std::uint32_t o) { return t.begin < o; });
      return static_cast<std::size_t>(it - tokens_.begin());
    };
    Part p;
    p.first = at(span.begin);
    p.last = at(span.end) - 1;
    return p;
  }

  const std::vector<Token>& tokens_;
};

class Layout {
 public:
  explicit Layout(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::string run(const std::vector<Part>& parts) {
    statements(parts, 0);
    before(tokens_.back(), 0);
    while (!lines_.empty() && lines_.back().blank()) lines_.pop_back();
    align_comments();
    std::string text;
    for (const Line& l : lines_) {
      text += l.code;
      if (!l.comment.empty()) text += std::string(l.gap, ' ') + l.comment;
      text += '\n';
    }
    return text;
  }

 private:
  struct Line {
    std::string code;
    std::string comment;  // behind the code
    std::size_t gap = 2;
    bool opens = false;  // a body
    bool blank() const { return code.empty() && comment.empty(); }
  };

  void statements(const std::vector<Part>& parts, std::size_t indent) {
    for (const Part& p : parts) {
      before(tokens_[p.first], indent);
      statement(p, indent);
    }
  }

  /// The comments before a token that begins a line: one behind the last line, the others on lines of their own.
  void before(const Token& token, std::size_t indent) {
    for (const Comment& c : token.comments) {
      if (!c.alone && !lines_.empty()) {
        lines_.back().comment = c.text;
        continue;
      }
      if (c.after_blank) blank();
      lines_.push_back({std::string(indent, ' ') + c.text, {}});
    }
    if (token.after_blank) blank();
  }

  /// None at the head of a file or of a body, and no two in a row.
  void blank() {
    if (!lines_.empty() && !lines_.back().blank() && !lines_.back().opens) lines_.emplace_back();
  }

  void statement(const Part& p, std::size_t indent) {
    if (p.open == 0) {
      flow(p.first, p.last + 1, indent, p.kind);
      return;
    }
    if (std::string line; on_one_line(p, &line) && indent + utf8::count(line) <= kFormatWidth) {
      lines_.push_back({std::string(indent, ' ') + line, {}});
      return;
    }
    flow(p.first, p.open + 1, indent, p.kind);
    lines_.back().opens = true;
    statements(p.body, indent + kIndent);
    before(tokens_[p.close], indent + kIndent);
    while (lines_.back().blank()) lines_.pop_back();
    flow(p.close, p.last + 1, indent, p.kind);
  }

  /// A body that stands on one line, and holds no comment.
  bool on_one_line(const Part& p, std::string* text) const {
    std::map<std::size_t, Kind> starts;
    collect_starts(p, starts);
    const bool empty = p.close == p.open + 1;
    for (std::size_t i = p.first + 1; i <= p.last; ++i) {
      if (!tokens_[i].comments.empty()) return false;
      if (i > p.open && i <= p.close && tokens_[i].new_line && !empty) return false;
    }
    Kind kind = p.kind;
    for (std::size_t i = p.first; i <= p.last; ++i) {
      const auto start = starts.find(i);
      if (start != starts.end()) kind = start->second;
      if (start != starts.end() && tokens_[i - 1].type != L::LBRACE) {
        *text += "  ";
      } else if (i != p.first && layout::spaced(tokens_, i, kind)) {
        *text += ' ';
      }
      *text += tokens_[i].text;
    }
    return true;
  }

  static void collect_starts(const Part& p, std::map<std::size_t, Kind>& starts) {
    for (const Part& inner : p.body) {
      starts.emplace(inner.first, inner.kind);
      collect_starts(inner, starts);
    }
  }

  /// A stretch of tokens between two places where a line may end.
  struct Chunk {
    std::string text;
    bool strong = false;  // begins a line where not all fits into one
    bool broken = false;  // begins a line in any case: a comment stands before it
    std::size_t first = 0, last = 0;
  };

  /// Adds the chunks of [begin, end) to `list`: lines may end at places that are `depth` parentheses deep, and deeper
  /// where that alone leaves something too long. -1: only where comments stand.
  void chunks(std::size_t begin, std::size_t end, int depth, std::size_t width, Kind kind,
              std::vector<Chunk>& list) const {
    std::vector<Chunk> found;
    int deep = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const int change = layout::nesting(tokens_[i], kind);
      if (change < 0) --deep;
      const bool inner = i != begin;
      const bool broken = inner && !tokens_[i].comments.empty();
      if (!inner || broken || (deep <= depth && layout::may_break(tokens_, i, deep))) {
        Chunk c;
        c.first = i;
        c.broken = broken;
        c.strong = inner && deep == 0 && layout::has_to_break(tokens_, i, kind);
        found.push_back(std::move(c));
      }
      Chunk& c = found.back();
      if (i != c.first && layout::spaced(tokens_, i, kind)) c.text += ' ';
      c.text += tokens_[i].text;
      c.last = i;
      if (change > 0) ++deep;
    }
    for (Chunk& c : found) {
      constexpr int kDeepest = 64;
      if (depth >= 0 && depth < kDeepest && utf8::count(c.text) > width) {
        const std::size_t at = list.size();
        chunks(c.first, c.last + 1, depth + 1, width, kind, list);
        list[at].broken = c.broken;
        list[at].strong = c.strong;
      } else {
        list.push_back(std::move(c));
      }
    }
  }

  /// One statement, or one's head, over as many lines as it takes.
  void flow(std::size_t begin, std::size_t end, std::size_t indent, Kind kind) {
    std::vector<Chunk> list;
    chunks(begin, end, -1, kFormatWidth, kind, list);
    const bool whole = list.size() == 1 && indent + utf8::count(list.front().text) <= kFormatWidth;
    if (!whole) {
      list.clear();
      chunks(begin, end, 0, kFormatWidth - indent - kIndent, kind, list);
    }
    for (const Chunk& c : list) {
      const bool first = &c == list.data();
      if (c.broken) before(tokens_[c.first], indent + kIndent);
      const std::size_t width = first ? 0 : utf8::count(lines_.back().code);
      if (first || c.broken || c.strong || width + utf8::count(c.text) + 1 > kFormatWidth) {
        // A brace on a line of its own stands where its statement begins.
        const std::size_t at = first || c.text == "{" ? indent : indent + kIndent;
        lines_.push_back({std::string(at, ' ') + c.text, {}});
      } else {
        lines_.back().code += (layout::spaced(tokens_, c.first, kind) ? " " : "") + c.text;
      }
    }
  }

  /// Comments behind consecutive lines stand in one column, where that leaves them within the width.
  void align_comments() {
    for (std::size_t i = 0; i < lines_.size();) {
      std::size_t end = i, widest = 0, longest = 0;
      for (; end < lines_.size() && !lines_[end].comment.empty(); ++end) {
        widest = std::max(widest, utf8::count(lines_[end].code));
        longest = std::max(longest, utf8::count(lines_[end].comment));
      }
      if (widest + 2 + longest <= kFormatWidth) {
        for (std::size_t k = i; k < end; ++k) lines_[k].gap = widest + 2 - utf8::count(lines_[k].code);
      }
      i = std::max(end, i + 1);
    }
  }

  const std::vector<Token>& tokens_;
  std::vector<Line> lines_;
};

std::vector<std::string> comments_of(const std::vector<Token>& tokens) {
  std::vector<std::string> result;
  for (const Token& t : tokens) {
    for (const Comment& c : t.comments) result.push_back(c.text);
  }
  return result;
}

}  // namespace

std::optional<std::string> format(FileId file, SourceMap& sources, Diagnostics& diagnostics) {
  Diagnostics faults;
  const ast::File before = ast::parse(file, sources, faults);
  const bool wrong = faults.failed();
  diagnostics.take(faults);
  if (wrong) return std::nullopt;
  const std::vector<Token> tokens = layout::tokens_of(file, sources.text(file));
  std::string text = Layout(tokens).run(Finder(tokens).parts(before.statements));
  // A formatter that changes what a file says is worse than none.
  const FileId again = sources.add(sources.path(file), text);
  Diagnostics none;
  const ast::File after = ast::parse(again, sources, none);
  if (none.failed() || ast::print(before) != ast::print(after) ||
      comments_of(tokens) != comments_of(layout::tokens_of(again, text))) {
    throw std::logic_error("the layout of " + sources.path(file) + " would change what it says");
  }
  return text;
}

}  // namespace ampc::lang
