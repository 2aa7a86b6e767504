// YAML, strictly: each key once and known, plain true and false, decimal numbers, every fault at its place.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "ampc/build/manifest.h"

namespace ampc::build {

class YamlReader {
 public:
  YamlReader(FileId file, const SourceMap& sources, Diagnostics& diagnostics)
      : file_(file), sources_(sources), diagnostics_(diagnostics) {}

  /// The one document; nothing, with a report, where the text has none or several, or is no YAML.
  std::optional<YAML::Node> document();

  using Fields = std::map<std::string_view, std::function<void(const YAML::Node&)>>;
  /// Hands each value of a mapping to the field of its key.
  void mapping(const YAML::Node& node, std::string_view what, const Fields& fields);
  /// A mapping, as it has to be, whose keys are names of the user's.
  void names(const YAML::Node& node, const std::function<void(const Text&, const YAML::Node&)>& each);

  /// `example` is what to write instead of something else: "out: build/models".
  Text scalar(const YAML::Node& node, std::string_view what, std::string_view example);
  /// A list of texts, or one text for a list of one.
  std::vector<Text> texts(const YAML::Node& node, std::string_view what, std::string_view example);
  /// One of `words`; empty, with a report, where it is none.
  std::string word(const YAML::Node& node, std::string_view what, const std::vector<std::string>& words,
                   std::string_view example);
  /// Each once. Any text where there are no `words`.
  std::vector<std::string> words(const YAML::Node& node, std::string_view what, const std::vector<std::string>& words,
                                 std::string_view example);
  std::optional<bool> boolean(const YAML::Node& node, std::string_view what);
  /// The digits of a number from `least` to `most`.
  std::string number(const YAML::Node& node, std::string_view what, std::uint64_t least, std::uint64_t most,
                     std::uint64_t example);

  Diagnostic& error(const Span& span, std::string message, std::string label = {});
  Span span(const YAML::Node& node) const;
  /// Of a key without a value, the key.
  Span place(const YAML::Node& node) const;
  /// False where a quote has swallowed what may have been meant to follow it.
  bool whole() const { return whole_; }

 private:
  bool unclosed(const YAML::Node& node);
  Span at(const YAML::Mark& mark, std::size_t size) const;
  std::string one_of(const Text& text, std::string_view what, const std::vector<std::string>& words,
                     std::string_view example);

  FileId file_;
  const SourceMap& sources_;
  Diagnostics& diagnostics_;
  std::size_t mark_ = 0;  // bytes before what the library has read
  Span key_;              // the key whose value is read
  bool whole_ = true;
};

}  // namespace ampc::build
