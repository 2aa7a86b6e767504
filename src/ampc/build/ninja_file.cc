#include "ampc/build/ninja_file.h"

#include <filesystem>

#include <fmt/format.h>

namespace ampc::build {
namespace {

namespace fs = std::filesystem;

/// In a value: `$` alone means something.
std::string value(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

/// In a list of files.
std::string name(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == '$' || c == ' ' || c == ':') out += '$';
    out += c;
  }
  return out;
}

/// As a shell takes it.
std::string quoted(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

}  // namespace

std::string ninja_file(const std::vector<Job>& jobs, const std::vector<std::string>& skipped, const NinjaPlace& place,
                       std::vector<std::string>& errors) {
  const auto seen = [&](const std::string& path) {
    return place.folder == "." || fs::path(path).is_absolute()
               ? path
               : (fs::path(place.folder) / path).lexically_normal().string();
  };
  std::string text = fmt::format(
      "# The work of {}, written by `ampc build --ninja`: edit that one.\n"
      "ninja_required_version = 1.5\n\n"
      "rule ampc\n"
      "  command = {} $arguments\n"
      "  depfile = $made_from\n"
      "  restat = 1\n"
      "  description = ampc $out\n",
      value(place.manifest), value(quoted(place.program)));
  for (const std::string& reason : skipped) text += fmt::format("\n# skipped: {}\n", reason);
  for (const Job& job : jobs) {
    const std::string output = seen(job.output), depfile = output + ".d";
    std::string args;
    for (const std::string& arg :
         {std::string("--depfile"), depfile, std::string("--write-if-changed"), std::string("-q")})
      args += quoted(arg) + ' ';
    for (const std::string& arg : arguments(job, seen)) args += quoted(arg) + ' ';
    args.pop_back();
    for (const std::string& path : {output, seen(job.model), seen(job.rules), args}) {
      if (path.find_first_of("\n\r") == std::string::npos) continue;
      errors.push_back(fmt::format("a Ninja file cannot hold the line break in the name of '{}'", job.label));
      break;
    }
    text += fmt::format("\nbuild {}{}: ampc {} | {} {}\n  arguments = {}\n  made_from = {}\n", name(output),
                        job.external_data ? " | " + name(output + ".data") : "", name(seen(job.model)),
                        name(seen(job.rules)), name(place.program), value(args), value(depfile));
  }
  return text;
}

}  // namespace ampc::build
