#include "report/run_presence.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "os/file_lock.h"
#include "os/unnamed_file.h"

namespace dlaunch {

namespace {

constexpr mode_t kFileMode = 0600;

/// Locked before anybody can see it. 0 or errno.
int fill(int file, RunRecord& record) {
  record.locked = set_byte_lock(file, kAliveByte, true);
  const std::string text = run_record_json(record);
  const ssize_t written = ::write(file, text.data(), text.size());
  if (written < 0) return errno;
  // A short file: less than all of it means that the disk is full.
  return static_cast<std::size_t>(written) == text.size() ? 0 : ENOSPC;
}

}  // namespace

Result<RunPresence> RunPresence::announce(const RunDirectory& folder, RunRecord record) {
  const std::string path = folder.path() + "/run.json";
  UniqueFd file = open_unnamed_file(folder.path(), kFileMode);
  if (file && fill(file.get(), record) == 0 && give_name(file, path) == 0)
    return RunPresence(std::move(file));
  // Where there are no files without a name, by a temporary one. The lock stays: it belongs to the
  // open file, not to its name.
  const std::string temporary = path + ".tmp";
  file.reset(
      ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!file) return fail_errno(exit_code::kInternal, "create " + temporary, errno);
  int error = fill(file.get(), record);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return RunPresence(std::move(file));
  ::unlink(temporary.c_str());
  return fail_errno(exit_code::kInternal, "write " + path, error);
}

void RunPresence::set_stopping(bool stopping) {
  set_byte_lock(file_.get(), kStoppingByte, stopping);
}

}  // namespace dlaunch
