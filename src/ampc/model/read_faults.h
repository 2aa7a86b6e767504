// Reading a mapped file fails by a signal: the disk gives an error, or another process makes the file shorter. Here
// that becomes the end of the run with an error that names the file, and with nothing left behind.
#pragma once

#include <cstddef>
#include <string>

namespace ampc::read_faults {

struct Guard;

/// From now on a fault of reading within [data, data + size) is an error of the file `path`, open as `fd`: the process
/// writes it to stderr, cleans up and ends with exit code 1. The first call installs the handler of SIGBUS; faults
/// elsewhere go to the one before it.
Guard* watch(const std::byte* data, std::size_t size, int fd, const std::string& path);

/// To be called before the range is unmapped.
void forget(Guard* guard) noexcept;

/// What the process does before it ends by such an error. Called within a signal handler: may neither lock nor
/// allocate.
void on_death(void (*clean_up)()) noexcept;

}  // namespace ampc::read_faults
