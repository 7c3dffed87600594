#include "os/cgroup.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/proc_file.h"
#include "os/random.h"

namespace dlaunch {

namespace {

constexpr std::string_view kPrefix = "dlaunch-";
// Ranks may make cgroups of their own below; real ones are not nested deeper than this.
constexpr int kMaxDepth = 16;
constexpr std::chrono::seconds kSweepLimit{2};

bool is_cgroup2(const char* path) {
  struct statfs info {};
  return ::statfs(path, &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC;
}

std::vector<std::string> subfolders(const std::string& path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name(entry->d_name);
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  return names;
}

bool remove_tree(const std::string& path, int depth = 0) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  if (depth == kMaxDepth) return false;
  for (const std::string& name : subfolders(path)) remove_tree(path + '/' + name, depth + 1);
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

std::string fresh_name() {
  return random_name("dlaunch-" + std::to_string(::getpid()) + '-');
}

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void kill_all_in(int folder) {
  const UniqueFd file(::openat(folder, "cgroup.kill", O_WRONLY | O_CLOEXEC));
  if (file) (void)!::write(file.get(), "1", 1);
}

/// Whether this user made the folder with a name of fresh_name(): only such cgroups may be ended.
bool is_one_of_ours(std::string_view name, const UniqueFd& folder) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  const std::size_t dash = name.find('-');
  const auto only = [](std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
  };
  if (dash == std::string_view::npos || !only(name.substr(0, dash), "0123456789")) return false;
  const std::string_view number = name.substr(dash + 1);
  struct stat info {};
  return number.size() == 16 && only(number, "0123456789abcdef") &&
         ::fstat(folder.get(), &info) == 0 && info.st_uid == ::geteuid();
}

/// False: the cgroup still exists.
bool end_abandoned(const std::string& path, MonotonicTime deadline) {
  const UniqueFd folder = open_folder(path);
  // It is not ours, or its owner lives.
  if (!folder || !is_one_of_ours(path.substr(path.rfind('/') + 1), folder)) return true;
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return true;
  while (true) {
    kill_all_in(folder.get());
    if (remove_tree(path)) return true;
    if (monotonic_now() >= deadline) return false;
    const timespec moment{0, 500'000};
    ::nanosleep(&moment, nullptr);
  }
}

}  // namespace

std::optional<std::string> cgroup_path(std::string_view text, std::string_view controller) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    // "4:cpu,cpuacct:/path"; v2 is "0::/path".
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string list = ',' + std::string(line.substr(first + 1, second - first - 1)) + ',';
    const bool found = controller.empty()
                           ? line.starts_with("0::")
                           : list.find(',' + std::string(controller) + ',') != list.npos;
    if (!found) continue;
    std::string_view path = line.substr(second + 1);
    // cgroup_namespaces(7): "/.." is above the root of our namespace.
    if (path.starts_with("/..") || !path.starts_with('/')) return std::nullopt;
    if (path == "/") path = "";
    return std::string(path);
  }
  return std::nullopt;
}

std::optional<std::string> own_cgroup_folder() {
  const auto path = cgroup_path(read_proc_file("/proc/self/cgroup"));
  if (!path) return std::nullopt;
  for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (!is_cgroup2(root)) continue;
    const std::string folder = root + *path;
    // In a container with its own cgroup namespace and the host's mount, the path names a foreign
    // cgroup.
    const std::string members = '\n' + read_proc_file(folder + "/cgroup.procs");
    if (members.find('\n' + std::to_string(::getpid()) + '\n') == std::string::npos)
      return std::nullopt;
    return folder;
  }
  return std::nullopt;
}

std::optional<RankCgroup> RankCgroup::make(const std::string& parent) {
  const std::string path = parent + '/' + fresh_name();
  if (::mkdir(path.c_str(), 0700) != 0) return std::nullopt;
  UniqueFd folder = open_folder(path);
  // A concurrent sweep may have taken the lock, or removed the folder, which then has no files.
  const bool ours = folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 &&
                    ::faccessat(folder.get(), "cgroup.kill", W_OK, AT_EACCESS) == 0 &&
                    ::faccessat(folder.get(), "cgroup.procs", W_OK, AT_EACCESS) == 0;
  if (ours) return RankCgroup(path, std::move(folder));
  ::rmdir(path.c_str());
  return std::nullopt;
}

void RankCgroup::kill() const {
  kill_all_in(folder_.get());
}

bool RankCgroup::remove() const {
  return remove_tree(path_);
}

void move_to_cgroup(const std::string& folder, pid_t pid) {
  const UniqueFd file(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(pid);
  if (file) (void)!::write(file.get(), text.data(), text.size());
}

bool sweep_abandoned_cgroups(const std::string& parent, std::chrono::milliseconds limit) {
  const MonotonicTime deadline = monotonic_now() + limit;
  bool clean = true;
  for (const std::string& name : subfolders(parent)) {
    if (name.starts_with(kPrefix) && !end_abandoned(parent + '/' + name, deadline)) clean = false;
  }
  return clean;
}

void sweep_abandoned_cgroups() {
  if (const auto own = own_cgroup_folder()) sweep_abandoned_cgroups(*own, kSweepLimit);
}

}  // namespace dlaunch
