#include "agent/pmix_folders.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "os/private_folder.h"

namespace dlaunch {

namespace {

std::string folder_name(SessionId id) {
  return "pmix-" + session_name(id).substr(std::string("agent-").size());
}

std::string memory_folder() {
  return "/dev/shm/dlaunch-" + std::to_string(::geteuid());
}

void remove_all(const std::string& path) {
  std::error_code ignored;  // what cannot be removed stays, for nobody's harm
  std::filesystem::remove_all(path, ignored);
}

/// Empty: it could not be made; `problems` says why.
std::string make_below(const std::string& parent, SessionId id, std::string& problems) {
  const auto note = [&](const std::string& text) {
    problems += (problems.empty() ? "" : "; ") + text;
    return std::string();
  };
  if (const auto own = open_private_folder(parent, true); !own) return note(own.error().message);
  const std::string path = parent + '/' + folder_name(id);
  remove_all(path);  // of an earlier attempt
  if (::mkdir(path.c_str(), 0700) != 0) return note(path + ": " + errno_text(errno));
  return path;
}

}  // namespace

Result<PmixFolders> make_pmix_folders(SessionId id) {
  PmixFolders folders;
  std::string problems;
  for (const std::string& parent : session_folders()) {
    folders.files = make_below(parent, id, problems);
    if (!folders.files.empty()) break;
  }
  if (folders.files.empty())
    return fail(exit_code::kPreflight, "no folder for the PMIx server: " + problems);
  folders.shared_memory = make_below(memory_folder(), id, problems);
  return folders;
}

void remove_pmix_folders(SessionId id) {
  for (const std::string& parent : session_folders()) remove_all(parent + '/' + folder_name(id));
  remove_all(memory_folder() + '/' + folder_name(id));
}

}  // namespace dlaunch
