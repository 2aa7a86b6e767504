// The file that an output is written into before it has its name: hidden, beside its place, and gone when the run ends
// early, be it by a signal, by the run that comes after one that could not clean up.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace ampc::emit::temporary {

struct Removal;

struct File {
  int fd = -1;  // open for reading and writing; negative where none could be created
  int lock =
      -1;  // a second descriptor: as long as it is open, no other run takes the file for one that was left behind
  int error = 0;  // the errno where there is none
  std::string path;
  Removal* removal = nullptr;  // for `disarm`
};

/// A fresh file beside `target`, by a name that no other run uses. SIGINT, SIGTERM, SIGHUP and a fault of reading
/// remove it before they end the process.
File create(const std::string& target, mode_t mode);

/// The file is no longer to be removed. Leaves a null pointer.
void disarm(Removal*& removal) noexcept;

/// The folder part of a path, with its slash; empty for a bare name.
std::string folder_of(const std::string& path);

/// What a chain of symbolic links ends at, whether or not that exists. Throws the errno.
std::string follow_links(std::string path);

/// Whether a file that a dead process left, asked for by its bare name, is still needed.
using Keep = std::function<bool(const std::string& name)>;

/// Removes what killed runs left beside `target` (links in it followed): temporary files of its name that no living
/// process holds, and that `keep` does not want.
void sweep(const std::string& target, const Keep& keep = {});

/// The same for all temporary files in a folder that holds nothing but outputs.
void sweep_folder(const std::string& folder);

}  // namespace ampc::emit::temporary
