// ampc.1, in the man macros of groff.
#include <algorithm>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "ampc/driver/command.h"
#include "ampc/driver/describe.h"

namespace ampc::driver {
namespace {

/// A line of text as it is: no letter of it is a request or an escape.
std::string plain(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result = "\\&";
  for (const char c : text) {
    if (c == '\\') {
      result += "\\(rs";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '\'') {
      result += "\\(aq";
    } else if (c == '^') {
      result += "\\(ha";
    } else if (c == '~') {
      result += "\\(ti";
    } else {
      result += c;
    }
  }
  return result;
}

/// An argument of a macro.
std::string argument(std::string_view text) {
  std::string result;
  for (const char c : plain(text)) result += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return "\"" + result + "\"";
}

std::string synopsis(const CommandText& command) {
  std::string text = ".B ampc";
  if (!command.name.empty()) text += " " + plain(command.name);
  text += "\n.RI [ options ]\n";
  for (const OptionText& p : command.places) {
    const std::string name = plain(p.names.front());
    const std::string_view more = p.repeated ? " ..." : "";
    text += p.required ? fmt::format(".I {}\n", name) : fmt::format(".RI [ {} ]\n", name);
    if (!more.empty()) text += "\\&...\n";
  }
  return text;
}

std::string entry(const OptionText& option) {
  std::string head;
  for (const std::string& name : option.names) {
    head += (head.empty() ? "" : ", ") + std::string("\\fB") + plain(name) + "\\fR";
  }
  const bool has_place = !option.names.front().starts_with('-');
  if (has_place) head = "\\fI" + plain(option.names.front()) + "\\fR";
  if (!has_place && !option.placeholder.empty()) {
    if (option.choices.empty()) {
      head += " \\fI" + plain(option.placeholder) + "\\fR";
    } else {
      head += " " + plain(fmt::format("{}", fmt::join(option.choices, "|")));
    }
  }
  std::string text = ".TP\n" + head + "\n" + plain(option.text);
  std::string more;
  if (!option.range.empty()) more += "; a number, " + option.range;
  if (!option.preset.empty()) more += "; by default " + option.preset;
  if (option.repeated && option.text.find("may be repeated") == std::string::npos) more += "; may be repeated";
  if (!option.excludes.empty()) more += fmt::format("; not with {}", fmt::join(option.excludes, ", "));
  return text + plain(more) + ".\n";
}

/// Lines as they are.
std::string lines(const std::string& text) {
  std::string result = ".nf\n";
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result += line.empty() ? ".sp\n" : plain(line) + "\n";
  return result + ".fi\n";
}

/// What stands behind the list of commands.
std::string footer_of(const CommandText& command) {
  const std::string list = commands_text();
  const std::size_t at = command.footer.find(list);
  std::string text = at == std::string::npos ? command.footer : command.footer.substr(at + list.size());
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

}  // namespace

std::string man_page(const std::vector<CommandText>& all) {
  const CommandText& main = all.front();
  std::string text =
      ".\\\" Written by `ampc help --man`.\n"
      ".TH AMPC 1 \"\" \"ampc " AMPC_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\nampc \\- mixed precision for ONNX models, by declarative rules\n"
      ".SH SYNOPSIS\n";
  for (const CommandText& c : all) text += (&c == &main ? "" : ".br\n") + synopsis(c);
  text += ".SH DESCRIPTION\n" + plain(main.text) + "\n";
  for (const OptionText& p : main.places) text += entry(p);
  text += ".PP\n" + lines(footer_of(main)) + ".SH OPTIONS\n";
  for (const OptionText& o : main.options) text += entry(o);
  text += ".SH COMMANDS\nA rule file that is called like a command is given with its folder.\n";
  for (const CommandText& c : all) {
    if (&c == &main) continue;
    text += ".SS " + argument("ampc " + c.name) + "\n" + plain(c.text) + "\n";
    for (const OptionText& p : c.places) text += entry(p);
    std::string shared;
    for (const OptionText& o : c.options) {
      if (std::find(main.options.begin(), main.options.end(), o) == main.options.end()) {
        text += entry(o);
      } else {
        shared += (shared.empty() ? "" : ",\n") + std::string("\\fB") + plain(o.names.back()) + "\\fR";
      }
    }
    if (!shared.empty()) text += ".PP\nAs above:\n" + shared + ".\n";
    if (!c.footer.empty()) text += ".PP\n" + lines(c.footer);
  }
  return text +
         ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nWhere it is set, no colours are written unless \\fB\\-\\-color "
         "always\\fR asks for them.\n"
         ".SH FILES\n.TP\n\\fI../share/ampc/rules\\fR\nBeside the program's folder: the rules that ship with it, where "
         "imports are looked for last.\n"
         ".SH SEE ALSO\nThe README and the language's reference in \\fI../share/doc/ampc\\fR.\n";
}

}  // namespace ampc::driver
