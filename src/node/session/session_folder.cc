#include "node/session/session_folder.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/unique_fd.h"

namespace dlaunch {

namespace {

constexpr mode_t kPrivate = 0700;
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string user_folder() {
  return "dlaunch-" + std::to_string(::geteuid());
}

bool is_tmpfs(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 &&
         (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

/// Opens a folder that belongs to us and that no other user may enter; makes it if it is missing.
/// Another user who could write to it could replace the files of ranks.
Result<UniqueFd> open_private(int parent, const std::string& name, const std::string& shown,
                              bool must_be_new) {
  const auto refuse = [&](const std::string& why) {
    return fail(exit_code::kCannotExecute, shown + ": " + why);
  };
  if (::mkdirat(parent, name.c_str(), kPrivate) != 0 && (errno != EEXIST || must_be_new))
    return refuse(errno_text(errno));
  UniqueFd fd(::openat(parent, name.c_str(), kOpenFolder));
  if (!fd) return refuse(errno_text(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return refuse(errno_text(errno));
  if (info.st_uid != ::geteuid()) return refuse("it belongs to another user");
  if ((info.st_mode & 077) != 0) return refuse("others may enter it (chmod 700)");
  if (::faccessat(fd.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) return refuse(errno_text(errno));
  return fd;
}

Result<std::string> make_below(const std::string& base, const std::string& name) {
  UniqueFd top(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top) return fail(exit_code::kCannotExecute, base + ": " + errno_text(errno));
  const std::string of_user = base + '/' + user_folder();
  auto user = open_private(top.get(), user_folder(), of_user, false);
  if (!user) return tl::unexpected(user.error());
  std::string path = of_user + '/' + name;
  // An existing folder holds the output of another run.
  if (auto own = open_private(user->get(), name, path, true); !own)
    return tl::unexpected(own.error());
  return path;
}

}  // namespace

std::vector<std::string> output_bases(const Environment& env) {
  std::vector<std::string> bases;
  const auto absolute = [&](const char* name) {
    const auto found = find_variable(env, name);
    return found && found->starts_with('/') ? *found : std::string();
  };
  if (std::string own = absolute("TMPDIR"); !own.empty()) bases.push_back(std::move(own));
  bases.emplace_back("/var/tmp");
  if (std::string cache = absolute("XDG_CACHE_HOME"); !cache.empty()) {
    bases.push_back(std::move(cache));
  } else if (const std::string home = absolute("HOME"); !home.empty()) {
    bases.push_back(home + "/.cache");
  }
  bases.emplace_back("/tmp");
  return bases;
}

Status SessionFolder::make(const std::string& name) {
  if (!path_.empty()) return {};
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    return fail(exit_code::kCannotExecute, "\"" + name + "\" is not the name of a folder");
  std::string reasons;
  for (const bool on_disk : {true, false}) {
    for (const std::string& base : bases_) {
      if (is_tmpfs(base) == on_disk) continue;
      auto made = make_below(base, name);
      if (made) {
        path_ = std::move(*made);
        return {};
      }
      reasons += (reasons.empty() ? "" : "; ") + made.error().message;
    }
  }
  return fail(exit_code::kCannotExecute, reasons);
}

std::string SessionFolder::of_attempt(Attempt attempt) {
  if (path_.empty()) return {};
  std::string folder = path_ + "/attempt-" + std::to_string(attempt.value);
  // On failure the first output of a rank reports that it cannot be stored.
  if (made_.insert(attempt).second) ::mkdir(folder.c_str(), kPrivate);
  return folder;
}

void SessionFolder::forget(Attempt attempt) {
  if (path_.empty()) return;
  std::error_code ignored;  // what cannot be removed does no harm
  std::filesystem::remove_all(path_ + "/attempt-" + std::to_string(attempt.value), ignored);
  made_.erase(attempt);
}

void SessionFolder::remove_if_empty() {
  if (path_.empty()) return;
  for (const Attempt attempt : made_)
    ::rmdir((path_ + "/attempt-" + std::to_string(attempt.value)).c_str());
  // dlaunch-UID stays: another run may be about to make its folder in it.
  ::rmdir(path_.c_str());
}

}  // namespace dlaunch
