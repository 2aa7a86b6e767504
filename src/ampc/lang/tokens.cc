// Faults that show in the letters alone.
#include <algorithm>

#include "ampc/diag/codes.h"
#include "ampc/diag/utf8.h"
#include "ampc/lang/parse_tree.h"
#include "ampc/lang/syntax.h"
#include "ampc/lang/token_kinds.h"

namespace ampc::lang::syntax {

namespace {

// `&&`, `||` and `!` are words here.
struct Operator {
  char letter;
  std::size_t type;
  const char* help;
};
constexpr Operator kOperators[] = {{'&', AmpLexer::AND, "write 'and'"},
                                   {'|', AmpLexer::OR, "write 'or'; in a pattern in quotes, alternatives are {a,b}"},
                                   {'!', AmpLexer::NOT, "write 'not'"}};

// `// text` is written `# text`; of /* … */ the same where it is one line.
void edit_comment(Diagnostic& d, const std::string& text) {
  if (text.find('\n') != std::string::npos) return;
  const bool closed = text.size() >= 4 && text.starts_with("/*") && text.ends_with("*/");
  if (text.starts_with("/*") && !closed) return;
  d.edit({d.span.file, d.span.begin, d.span.begin + 2}, "#");
  if (closed) d.edit({d.span.file, d.span.end - 2, d.span.end}, "");
}

// `|` is a letter of a pattern's body alone.
void check_bars(const std::vector<antlr4::Token*>& list) {
  bool head = false;   // between 'pattern' and its brace
  bool named = false;  // … and it is surely that, and no operand of this name
  int depth = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t type = list[i]->getType();
    if (type == AmpLexer::PATTERN && i + 1 < list.size()) {
      const std::size_t next = list[i + 1]->getType();
      head = true;
      named = next == AmpLexer::ID || next == AmpLexer::FP16 || next == AmpLexer::BF16;
    } else if (type == AmpLexer::LBRACKET) {  // a block's range
      head = false;
    } else if (type == AmpLexer::LBRACE &&
               (depth != 0 || (head && (named || list[i - 1]->getType() == AmpLexer::RPAREN)))) {
      head = false;
      ++depth;
    } else if (type == AmpLexer::RBRACE && depth != 0) {
      --depth;
    } else if (type == AmpLexer::BAR && depth == 0) {
      if (auto* token = dynamic_cast<antlr4::WritableToken*>(list[i])) token->setType(AmpLexer::STRAY);
    }
  }
}

}  // namespace

Places::Places(FileId file, std::string_view text) : file_(file), size_(static_cast<std::uint32_t>(text.size())) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return;
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (utf8::begins(text[i])) offsets_.push_back(i);
  }
}

std::uint32_t Places::offset(std::size_t code_point) const {
  if (offsets_.empty()) return std::min(static_cast<std::uint32_t>(code_point), size_);
  return code_point < offsets_.size() ? offsets_[code_point] : size_;
}

Span Places::of(const antlr4::Token* token) const { return of(token, token); }

Span Places::of(const antlr4::Token* first, const antlr4::Token* last) const {
  const std::uint32_t begin = offset(first->getStartIndex());
  if (last->getType() == antlr4::Token::EOF) return {file_, begin, begin};
  return {file_, begin, std::max(begin, offset(last->getStopIndex() + 1))};
}

Span Places::of(const antlr4::ParserRuleContext* tree) const {
  return of(tree->start, tree->stop == nullptr ? tree->start : tree->stop);
}

bool check_tokens(antlr4::CommonTokenStream& tokens, const Places& places, Diagnostics& diagnostics,
                  FaultyLines& faulty) {
  std::set<std::pair<std::size_t, std::string>> strays;  // once a line
  int braces = 0;
  int parentheses = 0;
  const std::vector<antlr4::Token*> list = tokens.getTokens();
  check_bars(list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto* token = dynamic_cast<antlr4::WritableToken*>(list[i]);
    if (token == nullptr) continue;
    const Span span = places.of(token);
    switch (token->getType()) {
      case AmpLexer::OPEN_STRING:  // was reported
        token->setType(AmpLexer::STRING);
        break;
      case AmpLexer::OPEN_REGEX:
        token->setType(AmpLexer::REGEX);
        break;
      case AmpLexer::SLASH_COMMENT: {
        const bool name = i > 0 && list[i - 1]->getLine() == token->getLine() && takes_pattern(list[i - 1]->getType());
        auto& d = diagnostics.error(codes::kForeignComment, "comments begin with '#'")
                      .at(span)
                      .fix(name                         ? "a glob stands in quotes: \"*bias\""
                           : token->getText()[1] == '/' ? "write # in place of //"
                                                        : "write # at the head of each of its lines");
        if (!name) edit_comment(d, token->getText());
        if (name) faulty.insert(token->getLine());
        token->setChannel(antlr4::Token::HIDDEN_CHANNEL);
        break;
      }
      case AmpLexer::STRAY: {
        // Neighbours that are alike ("&&", ";;") are one mistake.
        std::size_t last = i;
        while (last + 1 < list.size() && list[last + 1]->getType() == AmpLexer::STRAY &&
               list[last + 1]->getText() == token->getText() &&
               list[last + 1]->getStartIndex() == list[last]->getStopIndex() + 1) {
          ++last;
        }
        const auto* meant = std::find_if(std::begin(kOperators), std::end(kOperators),
                                         [&](const Operator& o) { return o.letter == token->getText()[0]; });
        for (std::size_t k = i; k <= last; ++k) {
          auto* stray = dynamic_cast<antlr4::WritableToken*>(list[k]);
          if (stray == nullptr) continue;
          if (k == i && meant != std::end(kOperators)) {
            stray->setType(meant->type);
          } else {
            stray->setChannel(antlr4::Token::HIDDEN_CHANNEL);
          }
        }
        std::string text = token->getText();
        for (std::size_t k = i + 1; k <= last; ++k) text += list[k]->getText();
        if (strays.emplace(token->getLine(), text).second) {
          auto& d = diagnostics.error(codes::kBadCharacter, "'" + text + "' has no meaning in a rule file")
                        .at(places.of(token, list[last]))
                        .fix(meant != std::end(kOperators) ? meant->help : "leave it out");
          if (text == "&&") d.edit(d.span, "and");
          if (text == "||") d.edit(d.span, "or");
        }
        i = last;
        break;
      }
      case AmpLexer::LBRACE:
        ++braces;
        break;
      case AmpLexer::LPAREN:
        ++parentheses;
        break;
      case AmpLexer::RBRACE:
        braces = std::max(0, braces - 1);
        break;
      case AmpLexer::RPAREN:
        parentheses = std::max(0, parentheses - 1);
        break;
      default:
        break;
    }
    if (braces > kDeepest || parentheses > kDeepest) {
      diagnostics.error(codes::kTooDeep, "nested more than " + std::to_string(kDeepest) + " deep")
          .at(span)
          .fix("write it with fewer brackets and braces");
      return false;
    }
  }
  return true;
}

}  // namespace ampc::lang::syntax
