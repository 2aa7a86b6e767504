#include "ampc/driver/describe.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ampc/driver/command.h"

namespace ampc::driver {
namespace {

using Json = nlohmann::ordered_json;

/// `{fp16,bf16}` to its words.
std::vector<std::string> words_of(std::string_view set) {
  std::vector<std::string> result;
  std::istringstream in{std::string(set.substr(1, set.find('}') - 1))};
  for (std::string word; std::getline(in, word, ',');) result.push_back(word);
  return result;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name(true)};
  std::vector<std::string> result;
  for (const std::string& name : option.get_snames()) result.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.push_back("--" + name);
  return result;
}

Json option_json(const CLI::Option& option) {
  Json json;
  json["names"] = names_of(option);
  json["text"] = option.get_description();
  json["required"] = option.get_required();
  if (option.get_items_expected_max() == 0) return json;
  json["repeated"] = option.get_expected_max() > 1;
  json["default"] = option.get_default_str();
  // CLI11 joins what a value is called and what it is held against: TYPE:{fp16,bf16}, N:INT in [1 - 1000].
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  json["placeholder"] = option.get_positional() ? option.get_name(true) : type.substr(0, colon);
  if (colon == std::string::npos) return json;
  const std::string held = type.substr(colon + 1);
  if (held.starts_with('{')) json["choices"] = words_of(held);
  if (const std::size_t open = held.find('['); open != std::string::npos) {
    json["range"] = held.substr(open + 1, held.find(']', open) - open - 1);
  }
  return json;
}

Value kind_of(const OptionText& option) {
  const std::string& name = option.placeholder;
  if (name.empty()) return Value::none;
  if (!option.choices.empty()) return Value::choice;
  if (name == "COMMAND") return Value::command;
  if (name.starts_with("RULES")) return Value::rules;
  if (name.starts_with("MODEL")) return Value::model;
  if (name == "DIR") return Value::folder;
  if (name == "FILE" && option.text.find("ule file") != std::string::npos) return Value::rules;
  const bool has_place = !option.names.front().starts_with('-');
  return has_place || name == "FILE" || name == "PATH" || name == "OUT" ? Value::file : Value::any;
}

OptionText option_text(const Json& json) {
  OptionText o;
  o.names = json.at("names");
  o.text = json.at("text");
  o.required = json.at("required");
  o.repeated = json.value("repeated", false);
  o.preset = json.value("default", "");
  o.placeholder = json.value("placeholder", "");
  o.range = json.value("range", "");
  o.choices = json.value("choices", std::vector<std::string>());
  o.excludes = json.value("excludes", std::vector<std::string>());
  o.value = kind_of(o);
  return o;
}

CommandText command_text(std::string_view name, std::string_view summary,
                         int (*run)(const Arguments&, const Streams&)) {
  std::istringstream in;
  std::ostringstream out, err;
  if (run({kDescribe}, {in, out, err}) != kOk) throw std::logic_error("options cannot be told: " + err.str());
  const Json json = Json::parse(out.str());
  CommandText c{std::string(name), std::string(summary), json.at("text"), json.at("footer"), {}, {}};
  for (const Json& o : json.at("places")) c.places.push_back(option_text(o));
  for (const Json& o : json.at("options")) c.options.push_back(option_text(o));
  return c;
}

}  // namespace

std::string describe(const CLI::App& app) {
  Json json{{"text", app.get_description()},
            {"footer", app.get_footer()},
            {"places", Json::array()},
            {"options", Json::array()}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    Json one = option_json(*option);
    for (const CLI::Option* other : option->get_excludes()) {
      for (const std::string& name : names_of(*other)) one["excludes"].push_back(name);
    }
    // The library keeps them by address.
    if (one.contains("excludes")) std::sort(one["excludes"].begin(), one["excludes"].end());
    json[option->get_positional() ? "places" : "options"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

std::vector<CommandText> describe_all() {
  std::vector<CommandText> all{command_text("", "", compile_command)};
  for (const Command& c : commands()) all.push_back(command_text(c.name, c.summary, c.run));
  return all;
}

}  // namespace ampc::driver
