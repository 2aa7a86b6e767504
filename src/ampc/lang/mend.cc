// Faults that show in the letters: each is told once, and the text is mended where it is plain what was meant, so that
// what stands around it is read as well. A mended text has the length of the original: places stay what they are.
#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "ampc/diag/codes.h"
#include "ampc/diag/utf8.h"
#include "ampc/lang/syntax.h"

namespace ampc::lang::syntax {

namespace {

using antlr4::Token;

constexpr std::string_view kQuotes = "names and patterns stand in double quotes: \"...\"";
constexpr std::string_view kHalfOpen = "a range of nodes is half open: nodes [1,3)";
constexpr std::string_view kNoBrackets = "a list stands without brackets: allow MatMul, Gemm";
constexpr std::string_view kNames = "a name is letters, digits, '_' and '.'; any other stands in quotes";
constexpr std::string_view kNumbers = "numbers are decimal: 65504, 0.5, 1e-3";

// Signs of other alphabets for what is written in ASCII here.
struct Sign {
  std::string_view letter, ascii;
};
constexpr Sign kSigns[] = {{"→", "->"}, {"⇒", "->"}, {"–", "-"},  {"—", "-"},  {"−", "-"},
                           {"≤", "<="}, {"≥", ">="}, {"≠", "!="}, {"＝", "="}, {"，", ","},
                           {"：", ":"}, {"（", "("}, {"）", ")"}, {"｛", "{"}, {"｝", "}"}};

bool is_quote(std::string_view text) {
  constexpr std::string_view quotes[] = {"'", "`", "“", "”", "„", "‟", "‘", "’", "«", "»", "＂"};
  return std::find(std::begin(quotes), std::end(quotes), text) != std::end(quotes);
}

std::optional<unsigned> invisible(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7f) return first;
  constexpr std::pair<std::string_view, unsigned> list[] = {
      {"\u00a0", 0xa0},   {"\u00ad", 0xad},   {"\u200b", 0x200b}, {"\u200c", 0x200c}, {"\u200d", 0x200d},
      {"\u200e", 0x200e}, {"\u200f", 0x200f}, {"\u2009", 0x2009}, {"\u2028", 0x2028}, {"\u2029", 0x2029},
      {"\u202f", 0x202f}, {"\u2060", 0x2060}, {"\u3000", 0x3000}, {"\ufeff", 0xfeff}};
  for (const auto& [letter, number] : list) {
    if (text == letter) return number;
  }
  return std::nullopt;
}

class Mender {
 public:
  Mender(std::string& text, antlr4::CommonTokenStream& tokens, const Places& places, Diagnostics& diagnostics,
         FaultyLines& faulty)
      : text_(text), tokens_(tokens), places_(places), diagnostics_(diagnostics), faulty_(faulty) {}

  bool run() {
    merge_markers();
    const std::size_t n = tokens_.size();
    for (i_ = 0; i_ < n && type(i_) != Token::EOF; ++i_) {
      if (begin(i_) < done_ || dead(i_)) continue;
      switch (type(i_)) {
        case AmpLexer::OPEN_STRING:
          open_string();
          break;
        case AmpLexer::OPEN_REGEX:
        case AmpLexer::REGEX:
          regex();
          break;
        case AmpLexer::IMPORT:
          bare_import();
          break;
        case AmpLexer::LBRACKET:
          bracket();
          break;
        case AmpLexer::PATTERN:
          headless_pattern();
          break;
        case AmpLexer::NUMBER:
          if (touches(i_) && type(i_ + 1) == AmpLexer::ID) number(i_, i_ + 1);
          break;
        case AmpLexer::STRAY:
          stray();
          break;
        default:
          break;
      }
    }
    return mended_;
  }

 private:
  // ---- tokens ----
  std::size_t type(std::size_t i) const { return tokens_.get(i)->getType(); }
  std::string text(std::size_t i) const { return tokens_.get(i)->getText(); }
  std::size_t line(std::size_t i) const { return tokens_.get(i)->getLine(); }
  std::uint32_t begin(std::size_t i) const { return places_.of(tokens_.get(i)).begin; }
  std::uint32_t end(std::size_t i) const { return places_.of(tokens_.get(i)).end; }
  // No blank between this token and the next.
  bool touches(std::size_t i) const {
    return i + 1 < tokens_.size() && type(i + 1) != Token::EOF && end(i) == begin(i + 1);
  }
  bool touched(std::size_t i) const { return i > 0 && touches(i - 1); }
  bool first_on_line(std::size_t i) const { return i == 0 || line(i - 1) != line(i); }
  bool in_range() const { return range_line_ == line(i_); }
  static bool is_word(std::size_t type) { return type == AmpLexer::ID || type == AmpLexer::QNAME; }

  // ---- text ----
  Span span(std::uint32_t from, std::uint32_t to) const { return {places_.file(), from, to}; }
  void put(std::uint32_t at, std::string_view letters) {
    for (const char c : letters) text_[at++] = c;
    mended_ = true;
  }
  void blank(std::uint32_t from, std::uint32_t to) {
    for (; from < to; ++from) {
      if (text_[from] != '\n' && text_[from] != '\r') text_[from] = ' ';
    }
    done_ = std::max(done_, to);
    mended_ = true;
  }
  std::uint32_t end_of_line(std::uint32_t at) const {
    std::size_t to = std::min(text_.find('\n', at), text_.size());
    while (to > at && (text_[to - 1] == '\r' || text_[to - 1] == ' ' || text_[to - 1] == '\t')) --to;
    return static_cast<std::uint32_t>(to);
  }
  // To the next blank, brace or comma.
  std::uint32_t end_of_run(std::uint32_t at) const {
    return static_cast<std::uint32_t>(std::min(text_.find_first_of(" \t\r\n{},", at), text_.size()));
  }
  // A fault of this line and kind, unless it was told.
  // With `instead`, that is what --fix writes there.
  void tell(std::string_view code, std::string message, Span at, std::string_view help,
            std::optional<std::string> instead = std::nullopt) {
    if (!told_.emplace(line(i_), std::string(help)).second) return;
    auto& d = diagnostics_.error(code, std::move(message)).at(at).fix(std::string(help));
    if (instead) d.edit(at, std::move(*instead));
  }
  void no_meaning(std::string_view what, Span at, std::string_view help,
                  std::optional<std::string> instead = std::nullopt) {
    tell(codes::kBadCharacter, fmt::format("{} has no meaning in a rule file", what), at, help, std::move(instead));
  }

  // ---- faults ----
  void merge_markers() {
    const auto at_line = [&](std::string_view mark) {
      return text_.starts_with(mark) ? 0 : text_.find("\n" + std::string(mark));
    };
    std::size_t at = at_line("<<<<<<< ");
    if (at == std::string::npos) return;
    at += text_[at] == '\n' ? 1 : 0;
    diagnostics_.error(codes::kBadCharacter, "a merge of two versions was not finished here")
        .at(span(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + 7)))
        .fix("keep what holds, and delete the lines of <<<<<<<, ======= and >>>>>>>");
    for (const char* mark : {"<<<<<<< ", "=======", ">>>>>>> ", "||||||| "}) {
      for (std::size_t k = at_line(mark); k != std::string::npos; k = text_.find("\n" + std::string(mark), k)) {
        k += text_[k] == '\n' ? 1 : 0;
        const std::size_t to = std::min(text_.find('\n', k), text_.size());
        for (std::size_t c = k; c < to; ++c) text_[c] = ' ';
        dead_.emplace_back(k, to);
      }
    }
    mended_ = true;
  }

  bool dead(std::size_t i) const {
    return std::any_of(dead_.begin(), dead_.end(),
                       [&](const auto& d) { return d.first <= begin(i) && begin(i) < d.second; });
  }

  void open_string() {
    const Span at = places_.of(tokens_.get(i_));
    diagnostics_.error(codes::kOpenString, "this string is not closed").at(at).fix("end it with \" on the same line");
    faulty_.insert(line(i_));
    if (const auto other = continued()) {
      faulty_.insert(line(*other));
      if (at.end - at.begin > 1) put(at.end - 1, "\"");
      blank(at.end, begin(*other) + 1);
      return;
    }
    close(at, '"');
  }

  // `"encoder` and `.bias" keep fp32` on the next line: one string. The token that closes it.
  std::optional<std::size_t> continued() const {
    std::size_t k = i_ + 1;
    if (k >= tokens_.size() || type(k) == Token::EOF || line(k) != line(i_) + 1) return std::nullopt;
    const bool text = is_word(type(k)) || type(k) == AmpLexer::STRAY || type(k) == AmpLexer::OPEN_STRING;
    for (; text && type(k) != Token::EOF && line(k) == line(i_) + 1; ++k) {
      if (type(k) == AmpLexer::OPEN_STRING) return k;
    }
    return std::nullopt;
  }

  // At the first blank: what stands behind it is read again. Without one the rest of the line belongs to it.
  void close(Span at, char mark) {
    const std::size_t space = text_.find_first_of(" \t", at.begin);
    if (space < at.end) put(static_cast<std::uint32_t>(space), std::string_view(&mark, 1));
  }

  void regex() {
    const Span at = places_.of(tokens_.get(i_));
    if (touched(i_) && is_word(type(i_ - 1))) {  // encoder/layer, com.microsoft/Gelu
      const std::uint32_t to = end_of_run(at.begin);
      no_meaning("'/'", span(at.begin, at.begin + 1),
                 "a name with / stands in quotes: \"" + text_.substr(begin(i_ - 1), to - begin(i_ - 1)) +
                     "\"; a domain and its operator are joined by '::'");
      faulty_.insert(line(i_));
      blank(begin(i_ - 1), to);
    } else if (type(i_) == AmpLexer::OPEN_REGEX) {
      diagnostics_.error(codes::kOpenString, "this regular expression is not closed")
          .at(at)
          .fix("end it with / on the same line; a / inside is written \\/");
      faulty_.insert(line(i_));
      close(at, '/');
    } else if (touches(i_) && end_of_run(at.end) > at.end && text_[at.end] != ')' && text_[at.end] != ':' &&
               text_[at.end] != '#') {
      const std::uint32_t to = end_of_run(at.end);
      tell(codes::kBadPattern, "the regular expression ends before this", span(at.end, to),
           "a / within it is written \\/; a glob stands in quotes: \"" + text_.substr(at.begin, to - at.begin) + "\"");
      blank(at.end, to);
    }
  }

  // `import onnx/levels.amp`, `import <onnx/levels.amp>`
  void bare_import() {
    std::size_t k = i_ + 1;
    bool path = false;
    for (; k < tokens_.size() && type(k) != Token::EOF && line(k) == line(i_); ++k) {
      const std::size_t t = type(k);
      if (t == AmpLexer::STRING || t == AmpLexer::OPEN_STRING) return;
      path |= t == AmpLexer::REGEX || t == AmpLexer::OPEN_REGEX || t == AmpLexer::SLASH_COMMENT;
    }
    if (!path) return;
    const std::uint32_t from = begin(i_ + 1);
    const std::uint32_t to = end_of_run(from);
    std::string name = text_.substr(from, to - from);
    std::erase_if(name, [](char c) { return c == '<' || c == '>' || c == '(' || c == ')' || c == ';'; });
    tell(codes::kExpected, "expected a file name in quotes after 'import'", span(from, to),
         "write import \"" + name + "\"", "\"" + name + "\"");
    blank(begin(i_), end_of_line(from));
  }

  void bracket() {
    if (i_ > 0 && type(i_ - 1) == AmpLexer::NODES) {
      range_line_ = line(i_);
      return;
    }
    no_meaning("'['", places_.of(tokens_.get(i_)), kNoBrackets);
    const std::uint32_t at = begin(i_);
    text_[at] = ' ';
    mended_ = true;
  }

  // `pattern p(x)` and its first step on the next line: each step would be told.
  void headless_pattern() {
    std::size_t at = i_ + 1;
    const auto in_line = [&] { return type(at) != Token::EOF && line(at) == line(i_); };
    while (in_line() && type(at) != AmpLexer::LPAREN && type(at) != AmpLexer::LBRACE) ++at;
    if (!in_line() || type(at) != AmpLexer::LPAREN) return;
    while (in_line() && type(at) != AmpLexer::RPAREN && type(at) != AmpLexer::LBRACE) ++at;
    if (!in_line() || type(at) != AmpLexer::RPAREN) return;
    const std::uint32_t behind = end(at);
    std::size_t next = at + 1;
    const bool word = line(next) == line(i_) && is_word(type(next)) && behind != begin(next);
    if (word) ++next;
    if (type(next) == Token::EOF || line(next) == line(i_) || text_[behind] == '#') return;
    if (!is_word(type(next)) || (type(next + 1) != AmpLexer::ASSIGN && type(next + 1) != AmpLexer::COMMA)) return;
    auto& d =
        diagnostics_.error(codes::kExpected, "expected '{' after ')'" + (word ? ", found '" + text(at + 1) + "'" : ""))
            .fix("the steps of a pattern stand in braces: pattern p(x) { y = Exp(x) } keep fp32");
    if (word) {
      d.at(span(begin(at + 1), end(at + 1)));
      blank(begin(at + 1), end(at + 1));
    } else {
      d.at(span(behind - 1, behind)).edit(span(behind, behind), " {");
    }
    put(behind, "{");  // a blank or a line's end stands there
  }

  void number(std::size_t from, std::size_t to) {
    tell(codes::kBadNumber, fmt::format("'{}' is no number", text_.substr(begin(from), end(to) - begin(from))),
         span(begin(from), end(to)), kNumbers);
    if (type(from) == AmpLexer::NUMBER) {
      blank(end(from), end(to));
    } else {
      blank(begin(from), end(from));
    }
  }

  void stray() {
    const std::string letter = text(i_);
    std::size_t last = i_;  // neighbours that are alike are one fault
    while (last + 1 < tokens_.size() && type(last + 1) == AmpLexer::STRAY && text(last + 1) == letter && touches(last))
      ++last;
    const std::uint32_t from = begin(i_);
    const std::uint32_t to = end(last);
    const std::string all = text_.substr(from, to - from);
    const bool before_number = touches(last) && type(last + 1) == AmpLexer::NUMBER;
    const bool after_number = touched(i_) && type(i_ - 1) == AmpLexer::NUMBER;
    const bool within_word = touched(i_) && touches(last) && is_word(type(i_ - 1)) &&
                             (is_word(type(last + 1)) || type(last + 1) == AmpLexer::NUMBER);
    if (letter == "&" || letter == "|" || (letter == "!" && !(touched(i_) && type(i_ - 1) == AmpLexer::LT))) {
      i_ = last;  // words in their place: see check_tokens
      return;
    }
    if (is_quote(letter)) {
      quotes();
    } else if (const auto code = invisible(letter)) {
      const bool space = *code == 0xa0 || *code == 0x2009 || *code == 0x202f || *code == 0x3000;
      no_meaning(fmt::format("U+{:04X}, which is invisible,", *code), span(from, to),
                 space ? "write an ordinary space" : "delete it", space ? " " : "");
      within_word ? join(from, to, last) : blank(from, to);
    } else if (const auto* sign = std::find_if(std::begin(kSigns), std::end(kSigns),
                                               [&](const Sign& s) { return s.letter == letter; });
               sign != std::end(kSigns)) {
      no_meaning("'" + letter + "'", span(from, to), fmt::format("write '{}'", sign->ascii), std::string(sign->ascii));
      blank(from, to);
      put(to - static_cast<std::uint32_t>(sign->ascii.size()), sign->ascii);
    } else if ((letter == "-" && last > i_) || letter == "!") {  // -- and <!--
      const std::uint32_t comment = letter == "!" ? begin(i_ - 1) : from;
      tell(codes::kForeignComment, "comments begin with '#'", span(comment, end_of_line(from)), "write # in its place");
      blank(comment, end_of_line(from));
    } else if (letter == "." && before_number && last == i_) {
      number(after_number ? i_ - 1 : i_, i_ + 1);
    } else if (letter == "." && all.size() == 2 && (before_number || after_number)) {
      no_meaning("'..'", span(from, to),
                 in_range() ? kHalfOpen : "positions are listed: arg 1, 2; in a name, {0..3} is a range");
      put(from, ", ");
    } else if (letter == "." && all.size() > 2) {
      no_meaning("'" + all + "'", span(from, to), "what stands for any number has the dots at its name: more...: T");
      blank(from, to);
    } else if (letter == "+" && before_number) {
      tell(codes::kBadNumber, "a number has no '+' before it", span(from, to), "leave the '+' out", "");
      blank(from, to);
    } else if (letter == "]") {
      closing(from, to);
    } else if (within_word) {
      no_meaning("'" + all + "'", span(from, to), kNames);
      join(from, to, last);
    } else {
      no_meaning("'" + all + "'", span(from, to), help_for(letter),
                 letter == ";" ? std::optional<std::string>("") : std::nullopt);
      if (!touches(last) && letter != ";") faulty_.insert(line(i_));  // it may have been a word
      blank(from, to);
    }
    i_ = last;
  }

  std::string_view help_for(std::string_view letter) const {
    if (letter == ";") return "statements need no terminator: leave it out";
    if (letter == "-" && first_on_line(i_)) return "a list is its verdict and names with commas: allow MatMul, Gemm";
    if (letter == "+" || letter == "-" || letter == "^" || letter == "~")
      return "operators are called by their names: Add(x, 1)";
    return kNames;
  }

  void closing(std::uint32_t from, std::uint32_t to) {
    if (in_range()) {
      no_meaning("']'", span(from, to), kHalfOpen, ")");
      put(from, ")");
      return;
    }
    no_meaning("']'", span(from, to), kNoBrackets);
    blank(from, to);
  }

  // All quotes of this line: pairs become double quotes.
  void quotes() {
    std::vector<std::size_t> marks;
    for (std::size_t k = i_; k < tokens_.size() && type(k) != Token::EOF && line(k) == line(i_); ++k) {
      if (type(k) == AmpLexer::STRAY && is_quote(text(k))) marks.push_back(k);
    }
    const bool pairs = marks.size() % 2 == 0;
    auto& d = diagnostics_.error(codes::kBadCharacter, fmt::format("'{}' has no meaning in a rule file", text(i_)))
                  .at(places_.of(tokens_.get(i_)))
                  .fix(std::string(kQuotes));
    for (std::size_t m = 0; pairs && m < marks.size(); ++m) d.edit(places_.of(tokens_.get(marks[m])), "\"");
    faulty_.insert(line(i_));
    for (std::size_t m = 0; m < marks.size(); ++m) {
      const std::uint32_t from = begin(marks[m]);
      const std::uint32_t to = end(marks[m]);
      for (std::uint32_t c = from; c < to; ++c) text_[c] = ' ';
      if (pairs) text_[m % 2 == 0 ? to - 1 : from] = '"';
    }
    mended_ = true;
    done_ = std::max(done_, end(marks.back()));
  }

  // Mat-Mul: MatMul, and blanks behind it.
  void join(std::uint32_t from, std::uint32_t to, std::size_t last) {
    const std::uint32_t stop = end(last + 1);
    const std::string rest = text_.substr(to, stop - to);
    blank(from, stop);
    put(from, rest);
  }

  std::string& text_;
  antlr4::CommonTokenStream& tokens_;
  const Places& places_;
  Diagnostics& diagnostics_;
  FaultyLines& faulty_;
  std::set<std::pair<std::size_t, std::string>> told_;  // by line and help
  std::vector<std::pair<std::size_t, std::size_t>> dead_;
  std::size_t i_ = 0;
  std::uint32_t done_ = 0;      // what stands before this is mended
  std::size_t range_line_ = 0;  // of the last `nodes [`
  bool mended_ = false;
};

}  // namespace

bool mend(std::string& text, antlr4::CommonTokenStream& tokens, const Places& places, Diagnostics& diagnostics,
          FaultyLines& faulty) {
  return Mender(text, tokens, places, diagnostics, faulty).run();
}

}  // namespace ampc::lang::syntax
