#include "ampc/emit/output_pair.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace ampc::emit {
namespace {

/// A second file of the same bytes, which shares the first one's blocks where the file system can do that. False where
/// there is none, for want of room or of such a call.
bool duplicate(const std::string& file, const std::string& name) {
  const int from = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return false;
  struct stat info {};
  const bool known = ::fstat(from, &info) == 0;
  const mode_t mode = info.st_mode & 0777U;
  const int to = known ? ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) : -1;
  bool done = to >= 0 && ::fchmod(to, mode) == 0;  // the umask has been at it
  if (done && ::ioctl(to, FICLONE, from) != 0) {
    auto left = static_cast<std::size_t>(info.st_size);
    while (left != 0) {
      const ssize_t copied = ::copy_file_range(from, nullptr, to, nullptr, left, 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied <= 0) break;
      left -= static_cast<std::size_t>(copied);
    }
    done = left == 0;
  }
  if (to >= 0 && ::close(to) != 0 && errno != EINTR) done = false;
  ::close(from);
  if (to >= 0 && !done) ::unlink(name.c_str());
  return done;
}

/// Whether the file system can give a file a second name.
bool links(const std::string& file, const std::string& name) {
  return ::link(file.c_str(), name.c_str()) == 0 && ::unlink(name.c_str()) == 0;
}

}  // namespace

OutputFile::Outcome commit_pair(OutputFile& data, OutputFile& model, const OutputFile::CommitOptions& options,
                                const std::function<void(OutputFile&, const std::string&)>& bridge) {
  if (options.write_if_changed && data.equals_target() && model.equals_target()) {
    data.abandon();
    model.abandon();
    return OutputFile::Outcome::unchanged;
  }
  OutputFile::CommitOptions plain = options;
  plain.write_if_changed = false;
  std::error_code ignored;
  const bool older =
      std::filesystem::exists(data.target(), ignored) && std::filesystem::exists(model.target(), ignored);
  const std::string temporary = data.temporary(), link = temporary + ".link";
  if (!older || !links(temporary, link)) {
    data.commit(plain);
    return model.commit(plain);
  }
  OutputFile between(model.target());
  bridge(between, std::filesystem::path(temporary).filename().string());
  data.keep();  // a model refers to the temporary name from now on: it must outlive a signal
  between.commit(plain);
  // Nothing refers to the older data any more. onnx's loader refuses a data file of two names, and a kill would leave
  // one: there are two files, or for want of room two names for the moment of three calls.
  ::unlink(data.target().c_str());
  if (!duplicate(temporary, data.target()) && ::link(temporary.c_str(), data.target().c_str()) != 0)
    throw IoError(data.target(), errno, "cannot put the finished file in its place");
  const std::string replaced = model.temporary();
  const bool exchanged = model.exchange();
  if (!exchanged) model.commit(plain);
  ::unlink(temporary.c_str());
  if (exchanged) ::unlink(replaced.c_str());
  return OutputFile::Outcome::written;
}

}  // namespace ampc::emit
