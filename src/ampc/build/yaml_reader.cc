#include "ampc/build/yaml_reader.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ampc/build/yaml_faults.h"
#include "ampc/diag/build_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/diag/utf8.h"

namespace ampc::build {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
}  // namespace

Span YamlReader::at(const YAML::Mark& mark, std::size_t size) const {
  const std::size_t end = sources_.text(file_).size();
  const std::size_t begin = mark.is_null() ? 0 : std::min(mark_ + static_cast<std::size_t>(mark.pos), end);
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
  std::string_view text = sources_.text(file_);
  if (const auto bad = utf8::first_invalid(text)) {
    const auto at_byte = static_cast<std::uint32_t>(*bad);
    error({file_, at_byte, at_byte + 1},
          fmt::format("byte 0x{:02x} is no UTF-8", static_cast<unsigned char>(text[*bad])))
        .fix("save the manifest as UTF-8");
    return std::nullopt;
  }
  if (text.starts_with(kByteOrderMark)) {  // some editors write one
    mark_ = kByteOrderMark.size();
    text.remove_prefix(mark_);
  }
  try {
    const std::vector<YAML::Node> all = YAML::LoadAll(std::string(text));
    if (all.size() == 1 && !all.front().IsNull()) {
      if (all.front().IsScalar() && unclosed(all.front())) return std::nullopt;
      return all.front();
    }
    error(at(all.size() > 1 ? all[1].Mark() : YAML::Mark(), 1),
          all.size() > 1 ? "a second document begins here, and a manifest is one" : "the manifest is empty")
        .fix(all.size() > 1 ? "leave out what follows, or the lines with `---`, `...` or `%` in front"
                            : "say at least `models`, `rules` and `out`; README.md has an example");
  } catch (const YAML::Exception& e) {
    const std::size_t place = e.mark.is_null() ? 0 : static_cast<std::size_t>(e.mark.pos);
    const YamlFault fault = yaml_fault(text, place, e.msg);
    const auto begin = static_cast<std::uint32_t>(std::min(mark_ + fault.place, mark_ + text.size()));
    const auto end = static_cast<std::uint32_t>(std::min(mark_ + text.size(), std::size_t{begin} + 1));
    error({file_, begin, end}, "this is no YAML: " + fault.message).fix(fault.fix);
  }
  return std::nullopt;
}

/// The library takes the end of the text for that of a quote.
bool YamlReader::unclosed(const YAML::Node& node) {
  if (node.Tag() != "!") return false;
  const Span begin = span(node);
  const std::string_view text = sources_.text(file_).substr(begin.begin);
  if (text.empty() || ends_in_its_line(text)) return false;
  error({file_, begin.begin, begin.begin + 1}, "this text in quotes does not end in its line").fix("close the quote");
  whole_ = false;
  return true;
}

Span YamlReader::place(const YAML::Node& node) const { return node.IsNull() ? key_ : span(node); }

void YamlReader::mapping(const YAML::Node& node, std::string_view what, const Fields& fields) {
  if (!node.IsMap()) {
    error(place(node), fmt::format("{} is a mapping, lines of `key: value`", what))
        .fix("write `key: value` below it, indented");
    return;
  }
  std::vector<std::string> known;
  for (const auto& [name, field] : fields) known.emplace_back(name);
  names(node, [&](const Text& key, const YAML::Node& value) {
    const auto field = fields.find(key.text);
    if (field != fields.end()) return field->second(value);
    const std::string near = did_you_mean(key.text, known);
    error(key.span, fmt::format("{} has no key '{}'", what, key.text))
        .fix(key.text == "<<" ? "write out the keys that are to be merged"
             : near.empty()   ? "keys are " + list_of(known, false, "and")
                              : near);
  });
}

void YamlReader::names(const YAML::Node& node, const std::function<void(const Text&, const YAML::Node&)>& each) {
  std::map<std::string, Span> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      error(span(entry.first), "a key is a text, no list and no mapping").fix("write `key: value`");
      continue;
    }
    const Text key{entry.first.Scalar(), span(entry.first)};
    if (const auto [first, fresh] = seen.emplace(key.text, key.span); !fresh) {
      error(key.span, fmt::format("the key '{}' stands here a second time", key.text))
          .also(first->second, "the first one")
          .fix("leave one of them out");
      continue;
    }
    key_ = key.span;
    each(key, entry.second);
  }
}

Text YamlReader::scalar(const YAML::Node& node, std::string_view what, std::string_view example) {
  if (node.IsScalar() && unclosed(node)) return {{}, span(node)};
  if (node.IsScalar() && !node.Scalar().empty()) return {node.Scalar(), span(node)};
  const std::string message = node.IsNull() ? "no value stands behind this key"
                                            : fmt::format("{} is a text, {}", what,
                                                          node.IsMap()        ? "no mapping"
                                                          : node.IsSequence() ? "no list"
                                                                              : "and this one is empty");
  error(place(node), message).fix(fmt::format("write {}", example));
  return {{}, place(node)};
}

std::vector<Text> YamlReader::texts(const YAML::Node& node, std::string_view what, std::string_view example) {
  std::vector<Text> result;
  if (!node.IsSequence()) {
    result.push_back(scalar(node, what, example));
  } else {
    for (const auto& item : node) result.push_back(scalar(item, what, example));
    if (result.empty()) error(span(node), "the list is empty").fix(fmt::format("write {}", example));
  }
  std::erase_if(result, [](const Text& t) { return t.text.empty(); });
  return result;
}

std::string YamlReader::one_of(const Text& text, std::string_view what, const std::vector<std::string>& words,
                               std::string_view example) {
  if (text.text.empty() || std::find(words.begin(), words.end(), text.text) != words.end()) return text.text;
  const std::string near = did_you_mean(text.text, words);
  error(text.span, fmt::format("{} is {}, not '{}'", what, list_of(words, false), text.text))
      .fix(near.empty() ? fmt::format("write {}", example) : near);
  return {};
}

std::string YamlReader::word(const YAML::Node& node, std::string_view what, const std::vector<std::string>& words,
                             std::string_view example) {
  return one_of(scalar(node, what, example), what, words, example);
}

std::vector<std::string> YamlReader::words(const YAML::Node& node, std::string_view what,
                                           const std::vector<std::string>& words, std::string_view example) {
  std::vector<std::string> result;
  for (const Text& t : texts(node, what, example)) {
    const std::string known = words.empty() ? t.text : one_of(t, what, words, example);
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
  error(place(node), fmt::format("{} is true or false, without quotes", what)).fix(fmt::format("write {}: true", what));
  return std::nullopt;
}

std::string YamlReader::number(const YAML::Node& node, std::string_view what, std::uint64_t least, std::uint64_t most,
                               std::uint64_t example) {
  std::string text = node.IsScalar() && node.Tag() != "!" ? node.Scalar() : std::string();
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool decimal = fault == std::errc() && end == text.data() + text.size() && (text.size() == 1 || text[0] != '0');
  if (decimal && value >= least && value <= most) return text;
  error(place(node), fmt::format("{} is a decimal number from {} to {}, without quotes", what, least, most))
      .fix(fmt::format("write {}: {}", what, example));
  return {};
}

}  // namespace ampc::build
