#include "ampc/lsp/context.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "ampc/lsp/words.h"

namespace ampc::lsp {
namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

bool one_of(std::string_view token, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), token) != list.end();
}

/// Behind these a statement is not over.
bool goes_on(std::string_view token) {
  return one_of(token,
                {",",      "(",        ":",      "=",     "|",      "->", "<",   "<=",     ">=",   "==",    "!=",
                 "[",      "where",    "and",    "or",    "not",    "is", "arg", "result", "keep", "store", "except",
                 "import", "override", "sealed", "alias", "extern", "in", "for", "doc",    "from"});
}

/// Words that are never a name.
bool is_verb(std::string_view token) {
  return one_of(token, {"import", "allow", "deny", "unsupported", "leave", "bounded", "commutes", "moves", "override",
                        "sealed", "alias"});
}

bool is_head(std::string_view token) {
  const auto is = [&](const Word& w) { return w.word == token; };
  if (std::any_of(statement_words().begin(), statement_words().end(), is)) return true;
  if (std::any_of(level_words().begin(), level_words().end(), is)) return true;
  return std::any_of(settings().begin(), settings().end(),
                     [&](const Setting& s) { return s.key.substr(0, s.key.find(' ')) == token; });
}

/// Splits tokens into statements, up to the one that is not finished.
class Statements {
 public:
  explicit Statements(Context& context) : c_(context) {}

  void add(const Token& token, std::string_view next) {
    const std::string& text = token.text;
    if (text == "{") return open();
    if (text == "}") return close();
    if (!c_.statement.empty() && begins(token, next)) c_.statement.clear();
    c_.statement.push_back(text);
    if (c_.inside("pattern")) c_.pattern.push_back(text);
  }

  bool begins(const Token& token, std::string_view next) const {
    const std::string_view last = c_.statement.back();
    if (goes_on(last) || c_.depth() > 0) return false;
    if (c_.inside("pattern")) return token.new_line && is_word(token.text) && token.text != "where";
    if (is_verb(token.text)) return true;
    if (last == "}") return token.new_line && !one_of(token.text, {"keep", "follow", "low", "off"});
    if (token.text == "on") return next == "conflict";
    if (token.text == "off") return token.new_line && c_.inside("level");
    if (token.text == "follow") return true;
    if (is_head(token.text)) return token.new_line || c_.statement.size() > 1;
    return token.new_line && is_word(token.text) &&
           !one_of(token.text, {"where", "arg", "result", "except", "keep", "store", "for", "and", "or", "doc"});
  }

 private:
  void open() {
    std::string head(c_.head());
    if (one_of(head, {"override", "sealed"}) && c_.statement.size() > 1) head = c_.statement[1];
    if (head == "pattern") {
      saved_ = c_.statement;
      c_.pattern = c_.statement;
    }
    c_.enclosing.push_back(std::move(head));
    c_.statement.clear();
  }

  void close() {
    const bool pattern = c_.inside("pattern");
    if (!c_.enclosing.empty()) c_.enclosing.pop_back();
    c_.statement.clear();
    if (!pattern) return;
    c_.statement = std::move(saved_);
    c_.statement.emplace_back("}");
  }

  Context& c_;
  std::vector<std::string> saved_;  // the head of the pattern that is open
};

}  // namespace

bool Context::has(std::string_view token) const {
  return std::find(statement.begin(), statement.end(), token) != statement.end();
}

int Context::depth() const {
  int depth = 0;
  for (const std::string& t : statement) depth += t == "(" ? 1 : t == ")" ? -1 : 0;
  return depth;
}

bool is_word(std::string_view token) {
  return !token.empty() && (std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '_');
}

const Token* token_at(const std::vector<Token>& tokens, std::size_t offset) {
  const Token* ending = nullptr;
  for (const Token& t : tokens) {
    if (t.begin > offset) break;
    if (t.text.empty()) continue;
    if (offset < t.begin + t.text.size()) return &t;
    if (offset == t.begin + t.text.size() && is_word(t.text)) ending = &t;
  }
  return ending;
}

Context context_at(std::string_view text, std::size_t offset) {
  Context result;
  offset = std::min(offset, text.size());
  const std::vector<Token> tokens = lang::layout::tokens_of(kRootFile, text);
  // A word, and a domain before it.
  std::size_t begin = offset;
  while (begin > 0 && (is_letter(text[begin - 1]) || (text[begin - 1] == ':' && begin > 1 && text[begin - 2] == ':') ||
                       (text[begin - 1] == ':' && begin < offset && text[begin] == ':'))) {
    --begin;
  }
  result.word = begin;
  Statements statements(result);
  std::size_t end = 0;  // of the last token before the word
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    const std::size_t behind = t.begin + t.text.size();
    const bool quoted = t.text.starts_with('"');
    if (quoted && t.begin < offset && (offset < behind || !t.text.ends_with('"') || t.text.size() == 1)) {
      result.string = t.text.substr(1, offset - t.begin - 1);
      return result;
    }
    if (t.text.empty() || t.begin >= begin || behind > begin) {
      const bool on_new_line = text.substr(end, begin - end).find('\n') != std::string_view::npos;
      const std::string word(text.substr(begin, offset - begin));
      Token typed = {0, word.empty() ? "x" : word, 0, {}, false, on_new_line};
      const std::string_view next = i + 1 < tokens.size() ? std::string_view(tokens[i + 1].text) : std::string_view();
      if (!result.statement.empty() && on_new_line && statements.begins(typed, next)) result.statement.clear();
      break;
    }
    statements.add(t, i + 1 < tokens.size() ? std::string_view(tokens[i + 1].text) : std::string_view());
    end = behind;
  }
  const std::string_view gap = text.substr(end, begin - end);
  result.in_comment = gap.substr(gap.rfind('\n') + 1).find('#') != std::string_view::npos;
  return result;
}

}  // namespace ampc::lsp
