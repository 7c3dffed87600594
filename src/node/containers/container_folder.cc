#include "node/containers/container_folder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/files.h"
#include "os/proc_file.h"
#include "os/program_output.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCleanupLimit{20};
// Limit for all abandoned folders together, because the agent's thread waits for them.
constexpr std::chrono::seconds kAbandonedLimit{2};
constexpr std::size_t kMostCleanup = 8 * 1024 * 1024;
constexpr std::string_view kPrefix = "dlaunch-enter-";
// Prefix of a folder's name until the folder is locked and complete. Folders with such names are
// removed only after a long time.
constexpr std::string_view kUnfinished = "dlaunch-making-";
constexpr std::time_t kUnfinishedFor = 3600;  // seconds
// How long to wait for another agent that clears the folder.
constexpr std::chrono::seconds kLockLimit{5};

int copy_own_program(const std::string& to) {
  const UniqueFd from(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const UniqueFd copy(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  if (!from || !copy) return errno;
  ssize_t n = 0;
  do {
    n = ::sendfile(copy.get(), from.get(), nullptr, std::size_t{1} << 24);
  } while (n > 0 || (n < 0 && errno == EINTR));
  return n < 0 ? errno : 0;
}

int put_own_program(const std::string& to) {
  const std::string own = link_target("/proc/self/exe");
  if (!own.empty() && ::link(own.c_str(), to.c_str()) == 0) return 0;
  return copy_own_program(to);  // another file system, or not our file
}

std::string read_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string text;
  char bytes[16384];
  ssize_t n = 0;
  while (file && text.size() < kMostCleanup && (n = ::read(file.get(), bytes, sizeof bytes)) > 0)
    text.append(bytes, static_cast<std::size_t>(n));
  return text;
}

/// A NUL byte ends each word; an empty word ends each command.
std::vector<std::vector<std::string>> commands_in(std::string_view text) {
  std::vector<std::vector<std::string>> commands(1);
  while (!text.empty()) {
    const auto end = std::min(text.find('\0'), text.size());
    if (end == 0) {
      commands.emplace_back();
    } else {
      commands.back().emplace_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::erase_if(commands, [](const auto& command) { return command.empty(); });
  return commands;
}

/// "/tmp/dlaunch-making-X" for "/tmp/dlaunch-enter-X".
std::string unfinished(const std::string& folder) {
  std::string name = folder;
  const auto at = name.rfind(kPrefix);
  return at == std::string::npos ? name + ".new" : name.replace(at, kPrefix.size(), kUnfinished);
}

int rename_to_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // The file system lacks RENAME_NOREPLACE: at worst, rename(2) replaces an empty folder of ours.
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int put_script(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  return file ? write_all(file.get(), "#!/bin/sh\nexec \"$@\"\n") : errno;
}

/// Some containers can write to the folder (Charliecloud mounts nothing read-only). So commands in
/// its file are executed only if they remove containers of ours.
bool removes_containers(const std::vector<std::string>& command) {
  if (command.size() < 3 || command[1] != "rm") return false;
  const std::string name = std::filesystem::path(command[0]).filename();
  if (name != "podman" && name != "docker") return false;
  const auto option = [](const std::string& word) {
    return word == "--force" || word == "--volumes" || word == "--ignore" || word == "--time=0";
  };
  return std::all_of(command.begin() + 2, command.end(), [&](const std::string& word) {
    return option(word) || word.starts_with("dlaunch-");
  });
}

/// The folder must be locked. False: the time was too short, and the folder stays for the next
/// call.
bool clear_until(const std::string& folder, Clock::time_point end) {
  for (auto& command : commands_in(read_file(folder + "/cleanup"))) {
    if (!removes_containers(command)) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    command[0] = std::filesystem::path(command[0]).filename();  // the one in our PATH
    const auto done =
        program_output(command, std::min<std::chrono::milliseconds>(left, kCleanupLimit));
    // Containers that the engine refuses to remove are left alone.
    if (!done && done.error().exit_code == exit_code::kTimeLimit && Clock::now() >= end)
      return false;
  }
  remove_entry_folder(folder);
  return true;
}

bool clear_abandoned(const std::string& folder, Clock::time_point end) {
  const UniqueFd lock = lock_own_folder(folder);
  return !lock || clear_until(folder, end);
}

/// For a folder whose agent was killed while making it.
void remove_unfinished(const std::string& folder) {
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0 || about.st_uid != ::geteuid() ||
      about.st_mtime > std::time(nullptr) - kUnfinishedFor)
    return;
  if (const UniqueFd lock = lock_own_folder(folder)) remove_entry_folder(folder);
}

}  // namespace

tl::expected<EntryFolder, int> make_entry_folder(const std::string& folder) {
  const std::string making = unfinished(folder);
  if (::mkdir(making.c_str(), 0700) != 0) return tl::unexpected(errno);
  EntryFolder made{lock_own_folder(making)};
  int error = made.lock ? put_own_program(making + "/dlaunch") : EAGAIN;
  if (error == 0) error = put_script(making + "/rc");
  if (error == 0) error = rename_to_new(making, folder);
  if (error == 0) return made;
  remove_entry_folder(making);
  return tl::unexpected(error);
}

int note_cleanup(const std::string& folder, const std::vector<std::vector<std::string>>& commands) {
  std::string text;
  for (const auto& command : commands) {
    for (const std::string& word : command) text.append(word).push_back('\0');
    text.push_back('\0');
  }
  const std::string path = folder + "/cleanup", fresh = path + ".new";
  const UniqueFd file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno;
  if (const int error = write_all(file.get(), text); error != 0) return error;
  return ::rename(fresh.c_str(), path.c_str()) == 0 ? 0 : errno;
}

void remove_entry_folder(const std::string& folder) {
  for (const char* name : {"/socket", "/dlaunch", "/rc", "/cleanup", "/cleanup.new"})
    ::unlink((folder + name).c_str());
  ::rmdir(folder.c_str());
}

void clear_entry_folder(const std::string& folder, UniqueFd lock) {
  constexpr std::chrono::hours kAll{1};  // each command has a limit of its own
  const auto give_up = Clock::now() + kLockLimit;
  while (!lock && ::access(folder.c_str(), F_OK) == 0 && Clock::now() < give_up) {
    lock = lock_own_folder(folder);
    if (!lock) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (lock) (void)clear_until(folder, Clock::now() + kAll);
}

void clear_abandoned_entry_folders(const std::string& base) {
  const auto end_of_time = Clock::now() + kAbandonedLimit;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(base, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename();
    if (name.starts_with(kUnfinished)) remove_unfinished(at->path());
    if (name.starts_with(kPrefix) && !clear_abandoned(at->path(), end_of_time)) return;
  }
}

std::string entry_base(const Environment& environment) {
  std::vector<std::string> bases = {"/tmp", "/var/tmp"};
  const std::string home = find_variable(environment, "HOME").value_or("");
  const auto cache = find_variable(environment, "XDG_CACHE_HOME");
  if (cache && !cache->empty()) {
    bases.push_back(*cache);
  } else if (!home.empty()) {
    bases.push_back(home + "/.cache");
  }
  for (const std::string& base : bases) {
    struct statvfs about {};
    const bool executes =
        ::statvfs(base.c_str(), &about) == 0 && (about.f_flag & (ST_NOEXEC | ST_RDONLY)) == 0;
    if (executes && ::access(base.c_str(), W_OK | X_OK) == 0) return base;
  }
  return {};
}

}  // namespace dlaunch
