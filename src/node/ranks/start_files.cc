#include "node/ranks/start_files.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/unique_fd.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kFolderMode = 0700;

/// Makes the folders above `path`. Returns 0 or errno.
int make_folders_above(const std::string& path) {
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), kFolderMode) != 0 && errno != EEXIST) return errno;
  }
  return 0;
}

int write_file(const wire::StartFile& file) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd fd(::open(file.path.c_str(), kFlags, kFileMode));
  if (!fd && errno == ENOENT) {
    if (const int error = make_folders_above(file.path); error != 0) return error;
    fd = UniqueFd(::open(file.path.c_str(), kFlags, kFileMode));
  }
  if (!fd) return errno;
  // An existing file has kept its mode.
  if (::fchmod(fd.get(), kFileMode) != 0) return errno;
  return write_all(fd.get(), file.bytes);
}

}  // namespace

tl::expected<void, StartFailure> write_start_files(const std::vector<wire::StartFile>& files) {
  for (const wire::StartFile& file : files) {
    if (const int error = write_file(file); error != 0) {
      return tl::unexpected(
          StartFailure{StartFailure::Step::resources, error, "cannot write " + file.path, ""});
    }
  }
  return {};
}

void write_deadline(const wire::Deadline& deadline) {
  const auto at = std::chrono::floor<std::chrono::seconds>(deadline.at.time_since_epoch());
  const std::string unfinished = deadline.path + ".new";
  if (write_start_files({{unfinished, std::to_string(at.count()) + '\n'}}))
    std::rename(unfinished.c_str(), deadline.path.c_str());
}

}  // namespace dlaunch
