#include "ampc/build/yaml_faults.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace ampc::build {
namespace {

constexpr std::string_view kQuotes = "put texts with ':', '#', '*' or '&' in them in quotes";

/// What yaml-cpp says of a text, and how that is said here.
struct Fault {
  std::string_view library, message, fix;
};
constexpr Fault kFaults[] = {
    {"illegal EOF in scalar", "a quote is not closed", "close it"},
    {"illegal document indicator in scalar", "a quote is not closed before this line", "close it"},
    {"illegal flow end", "this closes nothing", "leave it out, or open it before"},
    {"illegal map value", "a second ':' in one line", kQuotes},
    {"illegal map key", "a key cannot stand here", "put it in a line of its own"},
    {"end of map not found", "this line is not `key: value`, or is indented unlike the lines above",
     "give each key a ':' and a space, and indent keys of one mapping alike"},
    {"end of sequence not found", "this line is no entry of the list above", "begin it with a dash and a space"},
    {"illegal block entry", "a list cannot begin here", "put its first dash in a line of its own, indented"},
    {"the referenced anchor is not defined", "a '*' begins the name of an anchor, and none is called so",
     "put patterns that begin with '*' in quotes: \"*.onnx\""},
    {"alias not found after *", "a '*' begins this text", "put it in quotes: \"*.onnx\""},
    {"illegal character found while scanning alias", "a '*' begins this text", "put it in quotes: \"*.onnx\""},
    {"anchor not found after &", "a '&' begins this text", "put it in quotes"},
    {"illegal character found while scanning anchor", "a '&' begins this text", "put it in quotes"},
    {"unknown escape character", "a backslash in double quotes begins an escape",
     "write two of them, or put the text in single quotes"},
    {"bad file", "lists or mappings are nested too deep", "a manifest has no more than four of them in one another"},
    {"unknown token", "no text begins with this character", "put the text in quotes"},
};

constexpr std::string_view kBlank = " \t\r";

struct Line {
  std::size_t begin = 0, first = 0;  // first: its first byte that is not blank
  std::string_view text;
};

Line line_at(std::string_view text, std::size_t place) {
  Line line;
  const std::size_t before = place == 0 ? std::string_view::npos : text.rfind('\n', place - 1);
  line.begin = before == std::string_view::npos ? 0 : before + 1;
  line.text = text.substr(line.begin, text.find('\n', line.begin) - line.begin);
  line.first = line.begin + std::min(line.text.find_first_not_of(kBlank), line.text.size());
  return line;
}

/// The line with text above another; that one where there is none.
Line line_above(std::string_view text, const Line& line) {
  for (Line above = line; above.begin != 0;) {
    above = line_at(text, above.begin - 1);
    const std::string_view written = text.substr(above.first, above.begin + above.text.size() - above.first);
    if (!written.empty() && written.front() != '#') return above;
  }
  return line;
}

bool has_key(const Line& line) { return (std::string(line.text) + ' ').find(": ") != std::string::npos; }

/// The bracket that is opened last and closed nowhere.
std::size_t last_open(std::string_view text) {
  std::vector<std::size_t> open;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '#' && (i == 0 || kBlank.find(text[i - 1]) != std::string_view::npos || text[i - 1] == '\n')) {
      i = std::min(text.find('\n', i), text.size());
    } else if (!open.empty() && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '[' || c == '{') {
      open.push_back(i);
    } else if ((c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    }
  }
  return open.empty() ? text.size() : open.back();
}

/// A quote at the begin of a key or a value, up to `place`, that is not closed in its line; npos where there is none.
std::size_t open_quote(std::string_view text, std::size_t place) {
  for (std::size_t begin = 0; begin <= place && begin < text.size();) {
    const Line line = line_at(text, begin);
    const std::size_t colon = line.text.find(": ");
    std::size_t value = colon == std::string_view::npos ? line.text.size() : colon + 2;
    value = std::min(line.text.find_first_not_of(kBlank, value), line.text.size());
    for (const std::size_t at : {line.first, line.begin + value}) {
      const bool quote = at < line.begin + line.text.size() && (text[at] == '"' || text[at] == '\'');
      if (quote && !ends_in_its_line(text.substr(at))) return at;
    }
    begin = line.begin + line.text.size() + 1;
  }
  return std::string_view::npos;
}

}  // namespace

YamlFault yaml_fault(std::string_view text, std::size_t place, std::string_view message) {
  const auto says = [&](std::string_view what) { return message.find(what) != std::string_view::npos; };
  const Line line = line_at(text, std::min(place, text.size()));
  const std::size_t tab = line.text.substr(0, line.first - line.begin).find('\t');
  if (tab != std::string_view::npos) return {line.begin + tab, "a tab indents this line", "indent by spaces"};
  const std::size_t quote = open_quote(text, place);
  if (quote != std::string_view::npos)
    return {quote, "this text in quotes does not end in its line", "close the quote"};
  if (says("flow not found")) {
    const std::size_t open = last_open(text);
    const bool list = open < text.size() ? text[open] == '[' : says("sequence");
    return {open, list ? "this '[' is not closed" : "this '{' is not closed",
            list ? "close it with ']'" : "close it with '}'"};
  }
  // Of a key that is the first of its line, what is wrong lies before it.
  if (says("illegal map value") && text.substr(line.first, place - line.first).find(": ") == std::string_view::npos) {
    const Line above = line_above(text, line);
    if (above.begin != line.begin && !has_key(above)) {
      return {above.first, "this line is not `key: value`", "put a ':' and a space behind the key"};
    }
    if (above.begin != line.begin && line.first - line.begin > above.first - above.begin) {
      return {line.first, "this key is indented, and the one above has a value already",
              "indent keys of one mapping alike"};
    }
  }
  for (const Fault& f : kFaults) {
    if (says(f.library)) return {place, std::string(f.message), std::string(f.fix)};
  }
  return {place, std::string(message), std::string(kQuotes)};
}

bool ends_in_its_line(std::string_view text) {
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == quote) {
      return true;  // two of them may stand for one, with the same answer
    }
  }
  return false;
}

}  // namespace ampc::build
