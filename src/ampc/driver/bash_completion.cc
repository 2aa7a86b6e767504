#include <map>
#include <string_view>

#include <fmt/format.h>

#include "ampc/driver/describe.h"

namespace ampc::driver {
namespace {

constexpr std::string_view kKinds[] = {"none", "any", "choice", "rules", "model", "file", "folder", "command"};

std::string_view kind(Value value) { return kKinds[static_cast<std::size_t>(value)]; }

constexpr std::string_view kHead =
    R"(# What bash completes after ampc. Written by `ampc help --completions bash`.

_ampc_names() {  # of a kind
  local name suffix
  compopt -o filenames 2>/dev/null
  case $1 in
    rules) suffix='!*.amp' ;;
    model) suffix='!*.onnx' ;;
    file) suffix= ;;
    folder) suffix='*' ;;
  esac
  while IFS= read -r name; do
    COMPREPLY+=("$name")
  done < <({ compgen -d -- "$cur"; compgen -f ${suffix:+-X "$suffix"} -- "$cur"; } | sort -u)
}

)";

// Behind the tables.
constexpr std::string_view kTail = R"(  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi
  # Which place this word has among those that belong to no option.
  for ((i = first; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      =) ((++i)) ;;
      -*) if [[ ${COMP_WORDS[i + 1]} != = && $valued == *" $word "* ]]; then ((++i)); fi ;;
      *) ((++at)) ;;
    esac
  done
  if [[ -z $command && $at -eq 0 && $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
  fi
  kinds=($places)
  last=${kinds[${#kinds[@]} - 1]}
  if ((at < ${#kinds[@]})); then
    word=${kinds[at]}
  elif [[ $last == *+ ]]; then
    word=$last
  else
    return
  fi
  case $word in
    command*) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur") ;;
    *) _ampc_names "${word%+}" ;;
  esac
}

complete -F _ampc ampc
)";

/// A command's words, the options of it that take a value, and the kinds of what has a place.
std::string table(const CommandText& command) {
  std::string options, valued, places;
  for (const OptionText& o : command.options) {
    for (const std::string& name : o.names) {
      options += (options.empty() ? "" : " ") + name;
      if (o.value != Value::none) valued += " " + name;
    }
  }
  for (const OptionText& p : command.places) {
    places += fmt::format("{}{}{}", places.empty() ? "" : " ", kind(p.value), p.repeated ? "+" : "");
  }
  return fmt::format("    '{}')\n      options='{}'\n      valued='{} '\n      places='{}'\n      ;;\n", command.name,
                     options, valued, places);
}

}  // namespace

std::string bash_completion(const std::vector<CommandText>& all) {
  std::string commands, tables;
  std::map<std::string, std::string> values;  // what completes a value, and the options behind which it stands
  for (const CommandText& c : all) {
    if (!c.name.empty()) commands += (commands.empty() ? "" : " ") + c.name;
    tables += table(c);
    for (const OptionText& o : c.options) {
      if (o.value == Value::none) continue;
      const std::string how =
          o.value == Value::any ? ""
          : o.value == Value::choice
              ? fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\"); ", fmt::join(o.choices, " "))
              : fmt::format("_ampc_names {}; ", kind(o.value));
      std::string& where = values[how];
      for (const std::string& name : o.names)
        where += fmt::format("{}'{} {}'", where.empty() ? "" : " | ", c.name, name);
    }
  }
  std::string one_of = commands;
  for (std::size_t at = 0; (at = one_of.find(' ', at)) != std::string::npos; at += 3) one_of.replace(at, 1, " | ");
  std::string text(kHead);
  text += fmt::format(
      "_ampc() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
      "  local commands='{}'\n"
      "  local command= first=1 at=0 options valued places word last i\n"
      "  local -a kinds\n"
      "  COMPREPLY=()\n"
      "  # bash takes = for a word of its own.\n"
      "  if [[ $cur == = ]]; then\n"
      "    cur=\n"
      "  elif [[ $prev == = && $COMP_CWORD -ge 2 ]]; then\n"
      "    prev=${{COMP_WORDS[COMP_CWORD - 2]}}\n"
      "  fi\n"
      "  if ((COMP_CWORD > 1)); then\n"
      "    case ${{COMP_WORDS[1]}} in\n"
      "      {}) command=${{COMP_WORDS[1]}} first=2 ;;\n"
      "    esac\n"
      "  fi\n"
      "  case $command in\n",
      commands, one_of);
  text += tables + "  esac\n  case \"$command $prev\" in\n";
  for (const auto& [how, where] : values) text += fmt::format("    {}) {}return ;;\n", where, how);
  return text + "  esac\n" + std::string(kTail);
}

}  // namespace ampc::driver
