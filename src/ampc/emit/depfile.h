// Depfiles as GNU make and Ninja read them: what an output was made from, for the build tool's next run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ampc::emit {

struct Depfile {
  std::string text;                   // empty where there are errors
  std::vector<std::string> errors;    // names that no depfile can hold
  std::vector<std::string> warnings;  // names that some build tool is known to misread
};

/// What a depfile has beside what follows from the files.
struct DepfileStyle {
  std::vector<std::string> targets;  // in place of the outputs, escaped already
  bool phony = false;  // a rule without a recipe for each prerequisite but the model: make goes on where one is gone
};

/// The target is `output`, to the letter; the prerequisites are `model`, then the `others`, sorted and each once
/// (without the model and without the output). One prerequisite a line. A `data_file` is a second target: a build rule
/// has to name it as an output, or Ninja refuses the depfile.
Depfile make_depfile(std::string_view output, std::string_view model, std::span<const std::string> others,
                     std::string_view data_file = {}, const DepfileStyle& style = {});

/// One name, escaped: a space, with the backslashes before it doubled; `#`; `:`; `$` as `$$`; and nothing else.
std::string escape_depfile_name(std::string_view name);

/// Writes the text, whole or not at all. Throws IoError.
void write_depfile(const std::string& path, std::string_view text);

}  // namespace ampc::emit
