#include <string_view>

#include <fmt/format.h>

#include "ampc/driver/describe.h"

namespace ampc::driver {
namespace {

/// Inside of single quotes, in what _arguments reads.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string action(const OptionText& option) {
  switch (option.value) {
    case Value::choice:
      return fmt::format("({})", fmt::join(option.choices, " "));
    case Value::rules:
      return "_files -g \"*.amp\"";
    case Value::model:
      return "_files -g \"*.onnx\"";
    case Value::file:
      return "_files";
    case Value::folder:
      return "_files -/";
    case Value::command:
      return "_ampc_commands";
    case Value::none:
    case Value::any:
      break;
  }
  return " ";
}

std::string option_spec(const OptionText& option) {
  const bool valued = option.value != Value::none;
  std::string spec = "      ";
  if (option.repeated) {
    spec += "'*'";
  } else {
    spec += fmt::format("'({}{}{})'", fmt::join(option.names, " "), option.excludes.empty() ? "" : " ",
                        fmt::join(option.excludes, " "));
  }
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ",") + name + (!valued ? "" : name.starts_with("--") ? "=" : "+");
  }
  spec += option.names.size() == 1 ? names : "{" + names + "}";
  spec += "'[" + escaped(option.text) + "]";
  if (valued) spec += ":" + escaped(option.placeholder) + ":" + action(option);
  return spec + "' \\\n";
}

std::string place_spec(const OptionText& place, std::size_t number, bool first) {
  const std::string where = place.repeated ? "*" : std::to_string(number);
  return fmt::format("      '{}{}{}:{}' \\\n", where, place.required ? ":" : "::", escaped(place.placeholder),
                     first ? "_ampc_first" : action(place));
}

std::string arguments(const CommandText& command) {
  std::string text = "    _arguments -s \\\n";
  for (const OptionText& o : command.options) text += option_spec(o);
  std::size_t number = 0;
  for (const OptionText& p : command.places) {
    ++number;
    text += place_spec(p, number, command.name.empty() && number == 1);
  }
  return text.substr(0, text.size() - 3) + "\n";
}

}  // namespace

std::string zsh_completion(const std::vector<CommandText>& all) {
  std::string text =
      "#compdef ampc\n"
      "# What zsh completes after ampc. Written by `ampc help --completions zsh`.\n\n"
      "_ampc_commands() {\n"
      "  local -a commands=(\n";
  for (const CommandText& c : all) {
    if (!c.name.empty()) text += fmt::format("    '{}:{}'\n", c.name, escaped(c.summary));
  }
  text +=
      "  )\n"
      "  _describe -t commands command commands\n"
      "}\n\n"
      "_ampc_first() {\n"
      "  ((CURRENT == 2)) && _ampc_commands\n"
      "  _files -g '*.amp'\n"
      "}\n\n"
      "_ampc() {\n"
      "  local command=\n"
      "  ((CURRENT > 2)) && command=$words[2]\n"
      "  case $command in\n";
  for (const CommandText& c : all) {
    if (c.name.empty()) continue;
    text += fmt::format("  {})\n    shift words\n    ((CURRENT--))\n{}    ;;\n", c.name, arguments(c));
  }
  return text + "  *)\n" + arguments(all.front()) + "    ;;\n  esac\n}\n\n" +
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  _ampc \"$@\"\nelse\n  compdef _ampc ampc\nfi\n";
}

}  // namespace ampc::driver
