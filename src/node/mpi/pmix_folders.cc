#include "node/mpi/pmix_folders.h"

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "os/files.h"


namespace dlaunch {

namespace {

constexpr std::string_view kPrefix = "pmix-";

std::string folder_name(SessionId id) {
  return std::string(kPrefix) + session_name(id).substr(std::string("agent-").size());
}

std::string memory_folder() {
  return "/dev/shm/dlaunch-" + std::to_string(::geteuid());
}

void remove_all(const std::string& path) {
  std::error_code ignored;  // what cannot be removed does no harm
  std::filesystem::remove_all(path, ignored);
}

/// Only in /dev/shm and /tmp: machines may share a home folder, and a lock there may not show that
/// an agent on another machine is alive.
void remove_abandoned(const std::string& parent) {
  constexpr std::time_t kYoung = 60;  // seconds; a newer folder may not be locked yet
  if (!parent.starts_with("/tmp/") && !parent.starts_with("/dev/shm/")) return;
  const std::time_t now = std::time(nullptr);
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(parent, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string path = at->path().string();
    struct stat about {};
    if (!at->path().filename().string().starts_with(kPrefix) ||
        ::lstat(path.c_str(), &about) != 0 || now - about.st_mtime < kYoung)
      continue;
    if (const UniqueFd lock = lock_own_folder(path)) remove_all(path);
  }
}

/// Returns the path; empty if it could not be made, with the reason added to `problems`.
std::string make_below(const std::string& parent, SessionId id, std::string& problems,
                       UniqueFd& lock) {
  const auto note = [&](const std::string& text) {
    problems += (problems.empty() ? "" : "; ") + text;
    return std::string();
  };
  if (const auto own = open_private_folder(parent, true); !own) return note(own.error().message);
  const std::string path = parent + '/' + folder_name(id);
  remove_all(path);  // of an earlier attempt
  if (::mkdir(path.c_str(), 0700) != 0) return note(path + ": " + errno_text(errno));
  lock = lock_own_folder(path);
  remove_abandoned(parent);
  return path;
}

}  // namespace

Result<PmixFolders> make_pmix_folders(SessionId id) {
  PmixFolders folders;
  std::string problems;
  for (const std::string& parent : session_folders()) {
    folders.files = make_below(parent, id, problems, folders.files_lock);
    if (!folders.files.empty()) break;
  }
  if (folders.files.empty())
    return fail(exit_code::kPreflight, "no folder for the PMIx server: " + problems);
  folders.shared_memory = make_below(memory_folder(), id, problems, folders.memory_lock);
  return folders;
}

void remove_pmix_folders(SessionId id) {
  for (const std::string& parent : session_folders()) remove_all(parent + '/' + folder_name(id));
  remove_all(memory_folder() + '/' + folder_name(id));
}

}  // namespace dlaunch
