#include "ampc/build/yaml_reader.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ampc/diag/build_codes.h"
#include "ampc/diag/suggest.h"

namespace ampc::build {

Span YamlReader::at(const YAML::Mark& mark, std::size_t size) const {
  const std::size_t end = sources_.text(file_).size();
  const std::size_t begin = mark.is_null() ? 0 : std::min(static_cast<std::size_t>(mark.pos), end);
  return {file_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(std::min(begin + size, end))};
}

Span YamlReader::span(const YAML::Node& node) const {
  if (!node.IsScalar()) return at(node.Mark(), 1);
  // A text in quotes has the tag "!".
  return at(node.Mark(), std::max<std::size_t>(1, node.Scalar().size() + (node.Tag() == "!" ? 2 : 0)));
}

Diagnostic& YamlReader::error(const Span& span, std::string message, std::string label) {
  return diagnostics_.error(codes::kManifest, std::move(message)).at(span, std::move(label));
}

std::optional<YAML::Node> YamlReader::document() {
  try {
    const std::vector<YAML::Node> all = YAML::LoadAll(std::string(sources_.text(file_)));
    if (all.size() == 1 && !all.front().IsNull()) return all.front();
    error(at(all.size() > 1 ? all[1].Mark() : YAML::Mark(), 1),
          all.size() > 1 ? "a manifest is one document" : "the manifest is empty")
        .fix(all.size() > 1 ? "leave out what follows the second '---'"
                            : "say at least `models`, `rules` and `out`; README.md has an example");
  } catch (const YAML::Exception& e) {
    error(at(e.mark, 1), "this is no YAML: " + e.msg).fix("texts with ':', '#', '*' or '&' in them are put in quotes");
  }
  return std::nullopt;
}

void YamlReader::mapping(const YAML::Node& node, std::string_view what, const Fields& fields) {
  std::vector<std::string> known;
  for (const auto& [name, field] : fields) known.emplace_back(name);
  names(node, [&](const Text& key, const YAML::Node& value) {
    const auto field = fields.find(key.text);
    if (field != fields.end()) return field->second(value);
    const std::string near = did_you_mean(key.text, known);
    error(key.span, fmt::format("{} has no key '{}'", what, key.text))
        .fix(near.empty() ? "keys are " + list_of(known, false, "and") : near);
  });
}

void YamlReader::names(const YAML::Node& node, const std::function<void(const Text&, const YAML::Node&)>& each) {
  if (!node.IsMap()) {
    error(span(node), "a mapping belongs here, lines of `key: value`");
    return;
  }
  std::map<std::string, Span> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      error(span(entry.first), "a key is a text");
      continue;
    }
    const Text key{entry.first.Scalar(), span(entry.first)};
    if (const auto [first, fresh] = seen.emplace(key.text, key.span); !fresh) {
      error(key.span, fmt::format("the key '{}' stands here a second time", key.text))
          .also(first->second, "the first one")
          .fix("leave one of them out");
      continue;
    }
    each(key, entry.second);
  }
}

Text YamlReader::scalar(const YAML::Node& node, std::string_view what) {
  if (node.IsScalar() && !node.Scalar().empty()) return {node.Scalar(), span(node)};
  error(span(node), fmt::format("{} is a text", what));
  return {{}, span(node)};
}

std::vector<Text> YamlReader::texts(const YAML::Node& node, std::string_view what) {
  std::vector<Text> result;
  if (!node.IsSequence()) {
    result.push_back(scalar(node, what));
  } else {
    for (const auto& item : node) result.push_back(scalar(item, what));
    if (result.empty()) error(span(node), fmt::format("{} is a list of nothing", what));
  }
  std::erase_if(result, [](const Text& t) { return t.text.empty(); });
  return result;
}

std::string YamlReader::one_of(const Text& text, std::string_view what, const std::vector<std::string>& words) {
  if (text.text.empty() || std::find(words.begin(), words.end(), text.text) != words.end()) return text.text;
  const std::string near = did_you_mean(text.text, words);
  error(text.span, fmt::format("{} is {}, not '{}'", what, list_of(words, false), text.text)).fix(near);
  return {};
}

std::string YamlReader::word(const YAML::Node& node, std::string_view what, const std::vector<std::string>& words) {
  return one_of(scalar(node, what), what, words);
}

std::vector<std::string> YamlReader::words(const YAML::Node& node, std::string_view what,
                                           const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const Text& t : texts(node, what)) {
    const std::string known = words.empty() ? t.text : one_of(t, what, words);
    if (std::find(result.begin(), result.end(), known) != result.end()) {
      error(t.span, fmt::format("'{}' is in the list already", known)).fix("leave one of them out");
    } else if (!known.empty()) {
      result.push_back(known);
    }
  }
  return result;
}

std::optional<bool> YamlReader::boolean(const YAML::Node& node, std::string_view what) {
  if (node.IsScalar() && node.Tag() != "!" && node.Scalar() == "true") return true;
  if (node.IsScalar() && node.Tag() != "!" && node.Scalar() == "false") return false;
  error(span(node), fmt::format("{} is true or false, without quotes", what));
  return std::nullopt;
}

std::string YamlReader::number(const YAML::Node& node, std::string_view what, std::uint64_t least, std::uint64_t most) {
  const std::string text = node.IsScalar() && node.Tag() != "!" ? node.Scalar() : std::string();
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool decimal = fault == std::errc() && end == text.data() + text.size() && (text.size() == 1 || text[0] != '0');
  if (decimal && value >= least && value <= most) return text;
  error(span(node), fmt::format("{} is a decimal number from {} to {}", what, least, most));
  return {};
}

}  // namespace ampc::build
