// Golden files: cases of a model, rules and what the compiler makes of them, many in one file of plain text.
//
//     Text before the first case is a comment.
//
//     === R18 one cast per value          title: the rule of the semantics that the case shows, then what it shows
//     --- args --level O1                 command line beside the files; optional
//     --- model                           onnx's text format
//     --- rules                           rule file
//     --- decisions                       expected sections, in any number and order; see golden_test.cc
//     --- exit 1                          exit status, where it is not 0
//
// A section reaches to the next line that begins with `---` or `===`; blank lines at its end do not count.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ampc::golden {

struct Section {
  std::string name;      // "model", "decisions", …
  std::string argument;  // rest of the header line
  std::string text;      // lines below it, each with its newline; without blank lines at the end
};

struct Case {
  std::string title;
  std::size_t line = 0;  // of the title, 1-based
  std::vector<Section> sections;

  const Section* find(std::string_view name) const {
    for (const Section& section : sections)
      if (section.name == name) return &section;
    return nullptr;
  }
};

struct File {
  std::string preamble;  // text before the first case
  std::vector<Case> cases;
};

inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Without blank lines at the end; with a newline after the last line.
inline std::string without_blank_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return {};
  return std::string(text.substr(0, last + 1)) + "\n";
}

/// Throws std::runtime_error naming the line where the text is no golden file.
inline File parse(std::string_view text) {
  File file;
  std::size_t number = 0;
  const auto fault = [&number](const std::string& what) {
    throw std::runtime_error("line " + std::to_string(number) + ": " + what);
  };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.starts_with("===")) {
      Case& added = file.cases.emplace_back();
      added.title = trimmed(line.substr(3));
      added.line = number;
      if (added.title.empty()) fault("a case without a title");
    } else if (line.starts_with("---")) {
      if (file.cases.empty()) fault("a section before the first case");
      const std::string_view header = trimmed(line.substr(3));
      const std::size_t space = header.find(' ');
      Case& current = file.cases.back();
      if (header.empty()) fault("a section without a name");
      Section added{std::string(header.substr(0, space)), {}, {}};
      if (space != std::string_view::npos) added.argument = trimmed(header.substr(space));
      for (const Section& other : current.sections)
        if (other.name == added.name && other.argument == added.argument)
          fault("a second section '" + added.name + "'");
      current.sections.push_back(std::move(added));
    } else {
      std::string* target = &file.preamble;
      if (!file.cases.empty()) {
        std::vector<Section>& sections = file.cases.back().sections;
        if (!sections.empty()) {
          target = &sections.back().text;
        } else if (!trimmed(line).empty()) {
          fault("text between a title and its first section");
        } else {
          continue;
        }
      }
      target->append(line).push_back('\n');
    }
  }
  for (Case& one : file.cases)
    for (Section& section : one.sections) section.text = without_blank_end(section.text);
  file.preamble = without_blank_end(file.preamble);
  return file;
}

/// The inverse of parse(), up to blank lines.
inline std::string print(const File& file) {
  std::string text = file.preamble;
  for (const Case& one : file.cases) {
    if (!text.empty()) text += "\n";
    text += "=== " + one.title + "\n";
    for (const Section& section : one.sections) {
      text += "--- " + section.name;
      if (!section.argument.empty()) text += " " + section.argument;
      text += "\n" + section.text;
    }
  }
  return text;
}

/// Words of an `args` section: split at spaces, "…" keeps them together.
inline std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  bool quoted = false;
  bool open = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
      if (!open) list.emplace_back();
      open = true;
    } else if (c == ' ' && !quoted) {
      open = false;
    } else {
      if (!open) list.emplace_back();
      open = true;
      list.back().push_back(c);
    }
  }
  if (quoted) throw std::runtime_error("a quote that is not closed in: " + std::string(text));
  return list;
}

}  // namespace ampc::golden
