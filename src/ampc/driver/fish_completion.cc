#include <string_view>

#include <fmt/format.h>

#include "ampc/driver/describe.h"

namespace ampc::driver {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

/// What stands where a value is asked for.
std::string value_of(const OptionText& option) {
  switch (option.value) {
    case Value::choice:
      return fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    case Value::rules:
      return " -r -k -a '(__fish_complete_suffix .amp)'";
    case Value::model:
      return " -r -k -a '(__fish_complete_suffix .onnx)'";
    case Value::file:
      return " -r -F";
    case Value::folder:
      return " -x -a '(__fish_complete_directories)'";
    case Value::any:
    case Value::command:
      return " -x";
    case Value::none:
      break;
  }
  return "";
}

std::string line(const CommandText& command, const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    if (name.starts_with("--")) {
      names += " -l " + name.substr(2);
    } else {
      names += " -s " + name.substr(1);
    }
  }
  return fmt::format("complete -c ampc -n '__ampc_in {}'{}{} -d {}\n", command.name.empty() ? "-" : command.name, names,
                     value_of(option), quoted(option.text));
}

}  // namespace

std::string fish_completion(const std::vector<CommandText>& all) {
  std::string commands;
  for (const CommandText& c : all) {
    if (!c.name.empty()) commands += " " + c.name;
  }
  std::string text = fmt::format(
      "# What fish completes after ampc. Written by `ampc help --completions fish`.\n\n"
      "function __ampc_in --description 'Whether the command is this one; - for none'\n"
      "    set -l words (commandline -opc)\n"
      "    if not contains -- \"$words[2]\"{}\n"
      "        test $argv[1] = -\n"
      "        return\n"
      "    end\n"
      "    test \"$words[2]\" = $argv[1]\n"
      "end\n\n"
      "complete -c ampc -e\n",
      commands);
  for (const CommandText& c : all) {
    if (!c.name.empty()) {
      text += fmt::format("complete -c ampc -n 'test (count (commandline -opc)) -eq 1' -a {} -d {}\n", c.name,
                          quoted(c.summary));
    }
    for (const OptionText& p : c.places) {
      if (p.value != Value::command) continue;
      text += fmt::format("complete -c ampc -n '__ampc_in {}' -x -a '{}'\n", c.name, commands.substr(1));
    }
    for (const OptionText& o : c.options) text += line(c, o);
  }
  return text;
}

}  // namespace ampc::driver
