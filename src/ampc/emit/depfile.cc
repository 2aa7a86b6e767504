#include "ampc/emit/depfile.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ampc/emit/output_file.h"
#include "ampc/emit/temporary_file.h"

namespace ampc::emit {
namespace {

enum class Place { target, first_prerequisite, other_prerequisite };

/// Who misreads a character that stands anywhere in a name, however it is escaped.
std::optional<std::string_view> misreaders(char c) {
  switch (c) {
    case ';':
    case '|':
      return "GNU make and Ninja misread";
    case '\t':
    case '*':
    case '<':
    case '>':
    case '^':
    case '`':
      return "Ninja misreads";
    case '&':
    case '\'':
    case '"':
    case '?':
      return "Ninja before 1.13 misreads";
    case '#':
    case '$':
      return "CMake's Ninja generators misread";
    case ':':
      return "CMake's Makefile generators misread";
    case '\\':
      return "CMake misreads";
    default:
      return std::nullopt;
  }
}

std::string shown(char c) {
  if (c == '\t') return "a tab";
  return fmt::format("'{}'", c);
}

void judge(std::string_view name, Place place, Depfile& depfile) {
  if (name.empty()) {
    depfile.errors.emplace_back("a depfile cannot hold an empty file name");
    return;
  }
  if (name.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos) {
    std::string visible;
    for (const char c : name) visible += c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\0' ? "\\0" : std::string(1, c);
    depfile.errors.push_back(fmt::format("a depfile cannot hold the line break in the file name '{}'", visible));
    return;
  }
  const auto warn = [&](std::string_view who, std::string_view what) {
    depfile.warnings.push_back(fmt::format("{} {} in the file name '{}' of a depfile", who, what, name));
  };
  std::string seen;
  for (const char c : name) {
    const auto who = misreaders(c);
    if (!who || seen.find(c) != std::string::npos) continue;
    seen += c;
    warn(*who, shown(c));
  }
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] == '\\' && (name[i + 1] == '#' || name[i + 1] == ':')) {
      warn("GNU make and Ninja cannot both read", fmt::format("'\\{}'", name[i + 1]));
      break;
    }
  }
  if (name.back() == '\\') warn("GNU make and Ninja misread", "a backslash that ends it,");
  if (name.back() == ' ') warn("GNU make misreads", "a space that ends it,");
  if (place != Place::other_prerequisite && name.find('=') != std::string_view::npos) warn("GNU make misreads", "'='");
  if (place == Place::target && name.find('%') != std::string_view::npos) warn("GNU make misreads", "'%'");
}

}  // namespace

std::string escape_depfile_name(std::string_view name) {
  std::string out;
  out.reserve(name.size() + 8);
  std::size_t backslashes = 0;  // right before the character at hand
  for (const char c : name) {
    if (c == ' ') {
      out.append(backslashes + 1, '\\');
    } else if (c == '#' || c == ':') {
      out += '\\';
    } else if (c == '$') {
      out += '$';
    }
    out += c;
    backslashes = c == '\\' ? backslashes + 1 : 0;
  }
  return out;
}

Depfile make_depfile(std::string_view output, std::string_view model, std::span<const std::string> others,
                     std::string_view data_file, const DepfileStyle& style) {
  std::vector<std::string_view> prerequisites(others.begin(), others.end());
  std::sort(prerequisites.begin(), prerequisites.end());
  prerequisites.erase(std::unique(prerequisites.begin(), prerequisites.end()), prerequisites.end());
  std::erase_if(prerequisites,
                [&](std::string_view name) { return name == model || name == output || name == data_file; });

  Depfile depfile;
  for (const std::string& target : style.targets) {
    if (target.empty() || target.find('\n') != std::string::npos) judge(target, Place::target, depfile);
  }
  if (style.targets.empty()) {
    judge(output, Place::target, depfile);
    if (!data_file.empty()) judge(data_file, Place::target, depfile);
  }
  judge(model, Place::first_prerequisite, depfile);
  for (const std::string_view name : prerequisites)
    judge(name, style.phony ? Place::target : Place::other_prerequisite, depfile);
  if (!depfile.errors.empty()) return depfile;

  if (style.targets.empty()) {
    depfile.text = escape_depfile_name(output);
    if (!data_file.empty()) depfile.text += ' ' + escape_depfile_name(data_file);
  } else {
    depfile.text = fmt::format("{}", fmt::join(style.targets, " "));
  }
  depfile.text += fmt::format(": \\\n  {}", escape_depfile_name(model));
  for (const std::string_view name : prerequisites) depfile.text += fmt::format(" \\\n  {}", escape_depfile_name(name));
  depfile.text += '\n';
  if (style.phony) {
    for (const std::string_view name : prerequisites) depfile.text += escape_depfile_name(name) + ":\n";
  }
  return depfile;
}

void write_depfile(const std::string& path, std::string_view text) {
  temporary::sweep(path);
  OutputFile file(path);
  file.write_at(0, std::as_bytes(std::span(text.data(), text.size())));
  file.commit();
}

}  // namespace ampc::emit
