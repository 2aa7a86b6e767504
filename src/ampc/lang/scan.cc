// Letters to tokens, as the grammar has them.
#include <algorithm>
#include <array>

#include "ampc/lang/parse_quick.h"

namespace ampc::lang::syntax {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_word(char c) { return begins_word(c) || is_digit(c) || c == '.'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool ends_line(char c) { return c == '\r' || c == '\n'; }

/// The grammar's words and signs by their first letter, longest first.
class Literals {
 public:
  Literals() {
    sorted_.assign(kGrammarLiterals.begin(), kGrammarLiterals.end());
    std::sort(sorted_.begin(), sorted_.end(), [](const GrammarLiteral& a, const GrammarLiteral& b) {
      return a.text[0] != b.text[0] ? a.text[0] < b.text[0] : a.text.size() > b.text.size();
    });
    for (std::size_t i = sorted_.size(); i-- > 0;) begin_[letter(sorted_[i].text[0])] = i;
    for (std::size_t i = 0; i < sorted_.size(); ++i) end_[letter(sorted_[i].text[0])] = i + 1;
  }

  T word(std::string_view text) const {
    for (std::size_t i = begin_[letter(text[0])]; i < end_[letter(text[0])]; ++i) {
      if (sorted_[i].text == text) return sorted_[i].type;
    }
    return T::ID;
  }

  /// The longest that `text` begins with.
  const GrammarLiteral* sign(std::string_view text) const {
    for (std::size_t i = begin_[letter(text[0])]; i < end_[letter(text[0])]; ++i) {
      if (text.starts_with(sorted_[i].text)) return &sorted_[i];
    }
    return nullptr;
  }

 private:
  static std::size_t letter(char c) { return static_cast<unsigned char>(c); }
  std::vector<GrammarLiteral> sorted_;
  std::array<std::size_t, 256> begin_{}, end_{};
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), size_(text.size()) {}

  std::optional<std::vector<TreeToken>> run() {
    tokens_.reserve(size_ / 5 + 2);
    for (;;) {
      if (!skip()) return std::nullopt;
      if (at_ == size_) break;
      const char c = text_[at_];
      const bool good = begins_word(c)                                   ? word()
                        : c == '"'                                       ? string()
                        : c == '/'                                       ? regex()
                        : is_digit(c) || (c == '-' && is_digit(peek(1))) ? number()
                                                                         : sign();
      if (!good) return std::nullopt;
    }
    const auto end = static_cast<std::uint32_t>(size_);
    tokens_.push_back({T::END_OF_FILE, end, end});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead) const { return at_ + ahead < size_ ? text_[at_ + ahead] : '\0'; }
  char at(std::size_t place) const { return place < size_ ? text_[place] : '\0'; }

  bool take(T type, std::size_t end) {
    tokens_.push_back({type, static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(end)});
    at_ = end;
    return true;
  }

  bool touches_last() const { return !tokens_.empty() && tokens_.back().end == at_; }

  // Spaces and comments. False at a slash that begins neither a regular expression nor `///`.
  bool skip() {
    for (; at_ < size_; ++at_) {
      const char c = text_[at_];
      if (is_space(c)) continue;
      if (c == '/' && peek(1) == '/') {
        if (peek(2) != '/' || peek(3) == '/') return false;
      } else if (c != '#') {
        break;
      }
      while (at_ < size_ && !ends_line(text_[at_])) ++at_;
      if (at_ == size_) break;
    }
    return true;
  }

  std::size_t word_end(std::size_t place) const {
    while (place < size_ && in_word(text_[place])) ++place;
    return place;
  }

  bool word() {
    const std::size_t end = word_end(at_);
    if (at(end) == ':' && at(end + 1) == ':' && begins_word(at(end + 2))) return take(T::QNAME, word_end(end + 2));
    const std::string_view letters = text_.substr(at_, end - at_);
    if (letters.size() > 3 && letters.ends_with("...")) return take(T::VARIADIC, end);
    const T type = literals().word(letters);
    if (type == T::ID && touches_last() && tokens_.back().type == T::NUMBER) return false;  // `3x` is told of
    return take(type, end);
  }

  // Behind a closing mark, or nothing where there is none on the line.
  std::size_t closed(char mark) const {
    for (std::size_t i = at_ + 1; i < size_ && !ends_line(text_[i]); ++i) {
      if (text_[i] == mark) return i + 1;
      if (text_[i] == '\\' && (++i == size_ || ends_line(text_[i]))) break;
    }
    return 0;
  }

  bool string() {
    const std::size_t end = closed('"');
    return end != 0 && take(T::STRING, end);
  }

  bool regex() {
    if (peek(1) == '*') return false;
    // What is written without a space before or behind it was meant for something else, mostly.
    const std::size_t end = closed('/');
    if (end == 0 || touches_last_word()) return false;
    constexpr std::string_view behind = " \t\r\n{},):#";
    if (end < size_ && behind.find(text_[end]) == std::string_view::npos) return false;
    return take(T::REGEX, end);
  }

  bool touches_last_word() const {
    return touches_last() && (tokens_.back().type == T::ID || tokens_.back().type == T::QNAME);
  }

  std::size_t digits_end(std::size_t place) const {
    while (is_digit(at(place))) ++place;
    return place;
  }

  bool number() {
    std::size_t end = digits_end(at_ + (text_[at_] == '-' ? 1 : 0));
    if (at(end) == '.' && is_digit(at(end + 1))) end = digits_end(end + 1);
    if (at(end) == 'e' || at(end) == 'E') {
      const std::size_t exponent = end + (at(end + 1) == '+' || at(end + 1) == '-' ? 2 : 1);
      if (is_digit(at(exponent))) end = digits_end(exponent);
    }
    return at(end) == '%' ? take(T::PERCENT, end + 1) : take(T::NUMBER, end);
  }

  bool sign() {
    const GrammarLiteral* found = literals().sign(text_.substr(at_));
    if (found == nullptr) return false;
    const T type = found->type;
    int& depth = type == T::LBRACE || type == T::RBRACE ? braces_ : parentheses_;
    if (type == T::LBRACE || type == T::LPAREN) ++depth;
    if (type == T::RBRACE || type == T::RPAREN) --depth;
    return depth <= kDeepest && take(type, at_ + found->text.size());
  }

  static const Literals& literals() {
    static const Literals all;
    return all;
  }

  std::string_view text_;
  std::size_t size_;
  std::size_t at_ = 0;
  int braces_ = 0, parentheses_ = 0;
  std::vector<TreeToken> tokens_;
};

}  // namespace

std::optional<std::vector<TreeToken>> scan(std::string_view text) { return Scanner(text).run(); }

}  // namespace ampc::lang::syntax
