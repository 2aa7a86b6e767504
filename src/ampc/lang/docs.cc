#include "ampc/lang/docs.h"

#include <algorithm>
#include <map>

#include "ampc/diag/codes.h"

namespace ampc::lang::syntax {
namespace {

constexpr std::string_view kMark = "///";

/// Lines of `///` without another thing between them.
struct Comment {
  std::string text;
  Span span;
};

class Docs {
 public:
  Docs(ast::File& file, std::string_view text, Diagnostics& diagnostics)
      : file_(file), text_(text), diagnostics_(diagnostics) {}

  /// What stands between two tokens; `begin` is the end of the one before. `of_file`: before `amp 1` or behind it.
  void gap(std::size_t begin, std::size_t end, bool of_file) {
    Comment open;
    bool alone = begin == 0;
    std::size_t newlines = 0;
    const auto close = [&] {
      if (!open.span.valid()) return;
      if (of_file && !head_.span.valid()) {
        head_ = open;
      } else {
        lonely(open.span);
      }
      open = {};
    };
    for (std::size_t i = begin; i < end; ++i) {
      if (text_[i] == '\n') {
        alone = true;
        if (++newlines > 1) close();
      } else if (text_[i] == '#' || text_.compare(i, kMark.size(), kMark) == 0) {
        const std::size_t stop = std::min(text_.find_first_of("\r\n", i), end);
        if (text_[i] == '/') line(i, stop, alone, open);
        newlines = 0;
        i = stop - 1;
      }
    }
    if (open.span.valid()) before_.emplace(static_cast<std::uint32_t>(end), std::move(open));
  }

  void attach(std::vector<ast::Statement>& statements) {
    for (ast::Statement& s : statements) {
      const auto found = before_.find(s.span.begin);
      if (found != before_.end()) {
        s.doc = std::move(found->second.text);
        before_.erase(found);
      }
      if (auto* n = std::get_if<ast::Scope>(&s.node)) attach(n->body);
      if (auto* n = std::get_if<ast::Block>(&s.node)) attach(n->body);
      if (auto* n = std::get_if<ast::LevelDefinition>(&s.node)) attach(n->body);
    }
  }

  void finish() {
    if (!head_.text.empty() && !file_.statements.empty()) {
      std::string& doc = file_.statements.front().doc;
      doc += (doc.empty() ? "" : "\n\n") + head_.text;
    }
    // A statement that is wrong was told; what is said of it says something.
    if (diagnostics_.failed()) return;
    for (const auto& [at, comment] : before_) lonely(comment.span);
  }

 private:
  void line(std::size_t begin, std::size_t end, bool alone, Comment& open) {
    std::string_view said = text_.substr(begin + kMark.size(), end - begin - kMark.size());
    if (said.starts_with(' ')) said.remove_prefix(1);
    said = said.substr(0, said.find_last_not_of(" \t") + 1);
    const Span span{file_.id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    if (!alone) return lonely(span);
    add(open, {std::string(said), span});
  }

  static void add(Comment& to, const Comment& more) {
    if (!to.span.valid()) {
      to = more;
      return;
    }
    to.text += '\n' + more.text;
    to.span.end = more.span.end;
  }

  void lonely(const Span& span) {
    diagnostics_.warning(codes::kLonelyDoc, "this documents nothing")
        .at(span)
        .fix("'///' stands on lines of its own directly above a statement; other comments begin with '#'");
  }

  ast::File& file_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  Comment head_;
  std::map<std::uint32_t, Comment> before_;  // by where the next token begins
};

}  // namespace

void attach_docs(ast::File& file, const ParseTree& tree, Diagnostics& diagnostics) {
  if (tree.text.find(kMark) == std::string_view::npos) return;
  Docs docs(file, tree.text, diagnostics);
  std::size_t end = 0;
  for (std::size_t i = 0; i < tree.tokens.size(); ++i) {
    const TreeToken& token = tree.tokens[i];
    if (token.begin > end + kMark.size()) docs.gap(end, token.begin, i == 0 || i == 2);  // behind `amp 1`
    end = token.end;
  }
  docs.attach(file.statements);
  docs.finish();
}

}  // namespace ampc::lang::syntax
