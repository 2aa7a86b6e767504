// Options that take a number of bytes: 4096, 500M, 4G.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class Option;
class App;
}  // namespace CLI

namespace ampc::driver {

/// Makes `text` the number of bytes that it stands for, in digits. Gives what is wrong with it, and what to write
/// instead; empty where nothing is.
std::string read_size(std::string& text, std::uint64_t least);

/// An option of at least so many bytes.
CLI::Option* add_size_option(CLI::App& app, const std::string& name, std::uint64_t& place,
                             const std::string& description, std::uint64_t least = 0);

}  // namespace ampc::driver
