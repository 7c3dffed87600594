#include "node/sync/workdir_list.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/sync/git_folder.h"
#include "os/sparse_file.h"
#include "sync/blocks.h"
#include "sync/rules.h"
#include "text/plain_text.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kFile = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr mode_t kPermissions = 0777;
constexpr std::size_t kLargestTold = 4;
constexpr const char* kIndent = "\n         ";

/// Reads the names in the folder, without "." and "..", and sorts them. Returns 0 or an errno.
int read_names(int folder, std::vector<std::string>& names) {
  const int copy = ::openat(folder, ".", kFolder);
  if (copy < 0) return errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(copy), &::closedir);
  if (!dir) return errno;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return errno;
}

std::string read_link(int folder, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t n = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  target.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return target;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &::free);
  return real ? real.get() : path;
}

}  // namespace

WorkdirLister::WorkdirLister(WorkdirListSettings settings) : settings_(std::move(settings)) {}
WorkdirLister::~WorkdirLister() = default;

bool WorkdirLister::step(std::size_t names) {
  if (!std::exchange(begun_, true)) begin();
  for (; names > 0 && status_ && !levels_.empty(); --names) {
    Level& level = levels_.back();
    if (level.next == level.names.size()) {
      if (level.has_rules) rules_.leave();
      levels_.pop_back();
      continue;
    }
    const std::string name = level.names[level.next++];
    look_at(level, name);
  }
  if (status_ && !levels_.empty()) return false;
  if (status_) check_limits(true);
  return true;
}

void WorkdirLister::begin() {
  settings_.root = real_path(settings_.root);
  if (!settings_.home.empty()) settings_.home = real_path(settings_.home);
  if (!settings_.run_base.empty()) settings_.run_base = real_path(settings_.run_base);
  const std::string& root = settings_.root;
  const bool holds_home = settings_.home.starts_with(root + '/');
  if (!settings_.is_named && (root == "/" || root == settings_.home || holds_home)) {
    const std::string what = root == "/"  ? "is /"
                             : holds_home ? root + " holds your home folder"
                                          : "is your home folder";
    return fail(exit_code::kJobFile,
                "sync: the workdir " + what +
                    ", which is not copied as a whole, because it contains keys and caches" +
                    kIndent + "start dlaunch in the folder of the job, or name it with workdir");
  }
  UniqueFd fd(::open(root.c_str(), kFolder));
  if (!fd)
    return fail(exit_code::kPreflight, settings_.what + (settings_.is_named ? "" : "workdir ") +
                                           root + ": " + errno_text(errno));
  std::string patterns;
  for (const std::string& pattern : settings_.exclude) patterns += pattern + '\n';
  excluded_.enter("", patterns);
  if (!settings_.is_named) enter_rules_above();
  if (status_) open(std::move(fd), "");
}

void WorkdirLister::enter_rules(std::string folder, const std::string& file) {
  Result<std::string> text = read_ignore_file(file);
  if (!text) return fail(text.error().exit_code, std::move(text.error().message));
  rules_.enter(std::move(folder), std::move(*text));
}

/// The rules of the folders above, if they belong to the same repository.
void WorkdirLister::enter_rules_above() {
  const std::optional<GitFolder> git = find_git_folder(settings_.root);
  if (!git) return;
  std::string folder = git->top == "/" ? "" : git->top;
  enter_rules("", git->exclude_file());
  std::string way;
  const std::string below =
      settings_.root.substr(std::min(folder.size() + 1, settings_.root.size()));
  bool left_out = false;
  for (std::size_t begin = 0; begin < below.size() && status_;) {
    const std::size_t end = std::min(below.find('/', begin), below.size());
    enter_rules(way, folder + '/' + way + ".gitignore");
    left_out = left_out || rules_.excludes(below.substr(0, end), true);
    way = below.substr(0, end) + '/';
    begin = end + 1;
  }
  prefix_ = way;
  // Even if the job's folder is ignored as a whole, the job needs its content.
  if (left_out) rules_ = {};
}

void WorkdirLister::open(UniqueFd fd, std::string path) {
  Level level;
  const std::string shown = settings_.root + '/' + path;
  const int error = read_names(fd.get(), level.names);
  if (error != 0 && error != ENOENT)  // ENOENT: it was removed just now
    return fail(exit_code::kPreflight, settings_.what + shown + ": " + errno_text(error));
  level.has_rules = !settings_.is_named &&
                    std::binary_search(level.names.begin(), level.names.end(), ".gitignore");
  if (level.has_rules) enter_rules(prefix_ + path, shown + ".gitignore");
  if (!status_) return;
  level.holds_runs = settings_.root + '/' + path == settings_.run_base + '/';
  level.fd = std::move(fd);
  level.path = std::move(path);
  levels_.push_back(std::move(level));
}

/// Whether `name` is a run folder; false unless the level is the folder of run folders.
bool WorkdirLister::is_run(const Level& level, const std::string& name) const {
  struct stat info {};
  return level.holds_runs && ::fstatat(level.fd.get(), (name + "/run.json").c_str(), &info, 0) == 0;
}

void WorkdirLister::look_at(const Level& level, const std::string& name) {
  if (sync::is_left_out(name)) return;
  struct stat info {};
  if (::fstatat(level.fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return;  // it was removed just now
    return fail(exit_code::kPreflight, settings_.what + settings_.root + '/' + level.path + name +
                                           ": " + errno_text(errno));
  }
  const bool is_folder = S_ISDIR(info.st_mode);
  SyncEntry entry;
  entry.path = level.path + name;
  if (excluded_.excludes(entry.path, is_folder) || rules_.excludes(prefix_ + entry.path, is_folder))
    return;
  if (settings_.root + '/' + entry.path == settings_.run_base || is_run(level, name)) return;
  if (is_folder) {
    entry.kind = SyncEntry::Kind::folder;
    entry.mode = info.st_mode & kPermissions;
    std::string path = entry.path + '/';
    UniqueFd fd(::openat(level.fd.get(), name.c_str(), kFolder));
    // It was removed or replaced just now.
    if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return;
    if (!fd)
      return fail(exit_code::kPreflight,
                  settings_.what + settings_.root + '/' + entry.path + ": " + errno_text(errno) +
                      (settings_.is_named ? ""
                                          : std::string(kIndent) +
                                                "what is not needed on the nodes can be left out "
                                                "with a .gitignore file"));
    add(std::move(entry));
    return open(std::move(fd), std::move(path));
  }
  if (S_ISLNK(info.st_mode)) {
    entry.kind = SyncEntry::Kind::link;
    entry.target = read_link(level.fd.get(), name);
    if (!entry.target.empty()) add(std::move(entry));
    return;
  }
  if (!S_ISREG(info.st_mode)) return special_.push_back(entry.path);
  look_at_file(level, name, info, std::move(entry));
}

void WorkdirLister::look_at_file(const Level& level, const std::string& name,
                                 const struct stat& info, SyncEntry entry) {
  entry.mode = info.st_mode & kPermissions;
  entry.size = static_cast<std::uint64_t>(info.st_size);
  entry.mtime = sync::nanoseconds(info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  std::uint64_t bytes = entry.size;
  const std::size_t index = entries_.size();
  if (settings_.is_named && info.st_nlink > 1) {
    const auto [last, is_first] = last_names_.try_emplace({info.st_dev, info.st_ino}, index);
    if (!is_first) {
      next_names_.emplace(std::exchange(last->second, index), index);
      bytes = 0;
    }
  }
  if (settings_.is_named && may_have_holes(info)) {
    const UniqueFd fd(::openat(level.fd.get(), name.c_str(), kFile));
    const std::uint64_t holes = bytes_in_holes(fd.get(), entry.size, sync::kBlockBytes);
    if (holes > 0) holes_.emplace(index, holes);
  }
  add(std::move(entry), bytes);
}

void WorkdirLister::add(SyncEntry entry, std::uint64_t bytes) {
  ++counted_;
  const std::size_t slash = entry.path.find('/');
  const bool is_inside = slash != std::string::npos;
  if (entry.kind != SyncEntry::Kind::folder) {
    sizes_[entry.path.substr(0, is_inside ? slash + 1 : slash)] += bytes;
    ++extent_.files;
  }
  extent_.bytes += bytes;
  const bool too_much = counted_ > settings_.most_files || extent_.bytes > settings_.most_bytes;
  if (!too_much) entries_.push_back(std::move(entry));
  // Counting continues only to name what is large.
  if (counted_ > 10 * settings_.most_files) check_limits(false);
}

void WorkdirLister::check_limits(bool all) {
  if (counted_ <= settings_.most_files && extent_.bytes <= settings_.most_bytes) return;
  std::vector<std::pair<std::uint64_t, std::string>> largest;
  for (const auto& [name, size] : sizes_) largest.emplace_back(size, name);
  std::sort(largest.rbegin(), largest.rend());
  largest.resize(std::min(largest.size(), kLargestTold));
  std::string text = settings_.what + settings_.root + " holds " + (all ? "" : "more than ") +
                     std::to_string(counted_) + " files and folders with " +
                     size_text(extent_.bytes) + "; at most " +
                     std::to_string(settings_.most_files) +
                     (settings_.is_named ? "" : " and " + size_text(settings_.most_bytes)) +
                     " are copied" + kIndent + "the largest: ";
  for (std::size_t i = 0; i < largest.size(); ++i)
    text += (i == 0 ? "" : ", ") + plain_line(largest[i].second) + " (" +
            size_text(largest[i].first) + ')';
  text += std::string(kIndent) +
          (settings_.is_named ? "pack them into one file"
                              : "leave out what the nodes do not need with a .gitignore file, or "
                                "put data on storage that they share");
  fail(exit_code::kJobFile, std::move(text));
}

void WorkdirLister::fail(int code, std::string message) {
  status_ = dlaunch::fail(code, std::move(message));
}

}  // namespace dlaunch
