// Globs and regular expressions over names. Both become RE2 automata; a glob without wildcards is a comparison.
#include <re2/re2.h>

#include <charconv>
#include <cstdint>
#include <mutex>

#include "ampc/lang/rule_set.h"

namespace ampc::lang {

namespace {

std::unique_ptr<re2::RE2> compile_automaton(const std::string& text, std::string* error);

}  // namespace

struct NamePattern::Impl {
  std::string literal;  // what a pattern that is not wild stands for
  std::string regex;    // of one that is, in RE2's words
  bool wild = false;
  // Made when it is first asked for: most patterns of a large rule set are for other models, and checking rules matches
  // none.
  mutable std::once_flag made;
  mutable std::unique_ptr<re2::RE2> automaton;

  const re2::RE2& get() const {
    std::call_once(made, [this] {
      if (!automaton) automaton = compile_automaton(regex, nullptr);
    });
    return *automaton;
  }
};

namespace {

constexpr std::size_t kShort = 1000;           // letters of an expression that RE2 surely has the room for
constexpr std::uint32_t kMostInRange = 10000;  // {0..9999}: more is a slip, and each costs states

std::unique_ptr<re2::RE2> compile_automaton(const std::string& text, std::string* error) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);  // a name may hold anything
  auto automaton = std::make_unique<re2::RE2>(text, options);
  if (automaton->ok()) return automaton;
  if (error != nullptr) *error = automaton->error();
  return nullptr;
}

// Letters, escaped signs, `.` and what repeats one of them: RE2 takes any such expression, which is known without
// asking it. Anything else is left to RE2.
bool is_plain(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' ||
           c == '-' || c == ':';
  };
  bool repeatable = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*' || text[i] == '+') {
      if (!repeatable) return false;
      repeatable = false;
      continue;
    }
    if (text[i] == '\\') {
      constexpr std::string_view escaped = "./-dw";
      if (++i == text.size() || escaped.find(text[i]) == std::string_view::npos) return false;
    } else if (text[i] != '.' && !is_letter(text[i])) {
      return false;
    }
    repeatable = true;
  }
  return text.size() <= kShort;
}

class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {}

  // False with error() set where the glob is none.
  bool run() {
    bool ok = sequence(0);
    if (ok && at_ < text_.size()) ok = fail("'}' closes nothing");
    return ok;
  }
  const std::string& regex() const { return regex_; }
  const std::string& literal() const { return literal_; }
  bool wild() const { return wild_; }
  const std::string& error() const { return error_; }

 private:
  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  void put(char c) {
    regex_ += re2::RE2::QuoteMeta(std::string_view(&c, 1));
    literal_ += c;
  }

  // Up to the end, or to the ',' or '}' that ends a part of {…}.
  bool sequence(int depth) {
    if (depth > 16) return fail("nested too deeply");
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '}' || (c == ',' && depth > 0)) return true;
      if (static_cast<unsigned char>(c) >= 0x80) {  // part of a code point: not to be quoted bytewise
        regex_ += c;
        literal_ += c;
        ++at_;
      } else if (c == '\\' && at_ + 1 < text_.size()) {
        put(text_[at_ + 1]);
        at_ += 2;
      } else if (c == '*') {
        star();
      } else if (c == '?') {
        wild_ = true;
        regex_ += "[^/]";
        ++at_;
      } else if (c == '{') {
        if (!braces(depth)) return false;
      } else {
        put(c);
        ++at_;
      }
    }
    return true;
  }

  void star() {
    wild_ = true;
    std::size_t end = at_;
    while (end < text_.size() && text_[end] == '*') ++end;
    const bool deep = end - at_ > 1;
    const bool after_slash = at_ > 0 && text_[at_ - 1] == '/';
    const bool at_start = at_ == 0;
    at_ = end;
    if (!deep) {
      regex_ += "[^/]*";
    } else if ((after_slash || at_start) && at_ < text_.size() && text_[at_] == '/') {
      regex_ += "(?:.*/)?";  // a/**/b is a/b too
      ++at_;
    } else if (after_slash && at_ == text_.size() && regex_.ends_with("\\/")) {
      regex_.resize(regex_.size() - 2);  // a/** is a too
      regex_ += "(?:/.*)?";
    } else {
      regex_ += ".*";
    }
  }

  bool braces(int depth) {
    wild_ = true;
    const std::size_t open = at_++;
    const std::size_t close = text_.find('}', at_);
    if (close == std::string_view::npos) return fail("'{' is not closed");
    const std::string_view inside = text_.substr(at_, close - at_);
    if (const std::size_t dots = inside.find("..");
        dots != std::string_view::npos && inside.find_first_of("{,") == std::string_view::npos) {
      at_ = close + 1;
      return range(inside.substr(0, dots), inside.substr(dots + 2));
    }
    regex_ += "(?:";
    for (;;) {
      if (!sequence(depth + 1)) return false;
      if (at_ >= text_.size()) {
        at_ = open;
        return fail("'{' is not closed");
      }
      if (text_[at_++] == '}') break;
      regex_ += '|';
    }
    regex_ += ')';
    return true;
  }

  bool range(std::string_view from, std::string_view to) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    const auto whole = [](std::string_view text, std::uint32_t* value) {
      const auto read = std::from_chars(text.data(), text.data() + text.size(), *value);
      return !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
    };
    if (!whole(from, &first) || !whole(to, &last)) return fail("a range is of numbers: {0..3}");
    if (first > last) return fail("the range {" + std::string(from) + ".." + std::string(to) + "} is empty");
    if (last - first >= kMostInRange) return fail("a range of more than " + std::to_string(kMostInRange) + " numbers");
    regex_ += "(?:";
    for (std::uint32_t i = first; i <= last; ++i) {
      if (i != first) regex_ += '|';
      regex_ += std::to_string(i);
    }
    regex_ += ')';
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string regex_;
  std::string literal_;
  bool wild_ = false;
  std::string error_;
};

}  // namespace

std::optional<NamePattern> NamePattern::glob(std::string_view text, std::string* error) {
  NamePattern result;
  result.text_ = text;
  auto impl = std::make_shared<Impl>();
  Translator translator(text);
  bool ok = !text.empty();
  if (!ok && error != nullptr) *error = "it is empty";
  if (ok && !translator.run()) {
    ok = false;
    if (error != nullptr) *error = translator.error();
  }
  if (!ok) return std::nullopt;
  impl->literal = translator.literal();
  impl->regex = translator.regex();
  impl->wild = translator.wild();
  if (impl->wild && impl->regex.size() > kShort) {
    impl->automaton = compile_automaton(impl->regex, error);
    if (!impl->automaton) return std::nullopt;
  }
  result.impl_ = std::move(impl);
  return result;
}

std::optional<NamePattern> NamePattern::regex(std::string_view text, std::string* error) {
  NamePattern result;
  result.text_ = text;
  result.regex_ = true;
  auto impl = std::make_shared<Impl>();
  impl->wild = true;
  impl->regex = text;
  if (!is_plain(text)) {
    impl->automaton = compile_automaton(impl->regex, error);
    if (!impl->automaton) return std::nullopt;
  }
  result.impl_ = std::move(impl);
  return result;
}

bool NamePattern::matches(std::string_view name) const {
  if (!impl_->wild) return name == impl_->literal;
  return re2::RE2::FullMatch(re2::StringPiece(name.data(), name.size()), impl_->get());
}

std::optional<std::string> NamePattern::group(std::string_view name) const {
  std::string text;
  if (!impl_->wild || !re2::RE2::FullMatch(re2::StringPiece(name.data(), name.size()), impl_->get(), &text))
    return std::nullopt;
  return text;
}

int NamePattern::groups() const { return impl_->wild ? impl_->get().NumberOfCapturingGroups() : 0; }

}  // namespace ampc::lang
