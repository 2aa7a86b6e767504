// What the commands' options are, read off the command line's own definitions: manual page and completions are made of
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ampc::driver {

/// The argument by which a command tells its options as JSON, and does nothing else.
inline constexpr const char* kDescribe = "--describe-options";

/// What may stand where a value is asked for.
enum class Value : std::uint8_t { none, any, choice, rules, model, file, folder, command };

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; of what has a place, one without a dash
  std::string text;
  std::string placeholder;           // of its value; empty for a flag
  std::string range;                 // "1 - 1000", where it is a number
  std::string preset;                // what holds without it, where it is told
  std::vector<std::string> choices;  // Value::choice
  std::vector<std::string> excludes;
  Value value = Value::none;
  bool required = false;
  bool repeated = false;

  bool operator==(const OptionText&) const = default;
};

struct CommandText {
  std::string name;     // empty for `ampc RULES MODEL`
  std::string summary;  // of `ampc --help`
  std::string text;
  std::string footer;
  std::vector<OptionText> places, options;
};

/// JSON of `app`, for parse().
std::string describe(const CLI::App& app);

/// `ampc RULES MODEL`, then all commands in the order of their names.
std::vector<CommandText> describe_all();

/// ampc.1, for man.
std::string man_page(const std::vector<CommandText>& all);

std::string bash_completion(const std::vector<CommandText>& all);
std::string zsh_completion(const std::vector<CommandText>& all);
std::string fish_completion(const std::vector<CommandText>& all);

}  // namespace ampc::driver
