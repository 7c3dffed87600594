#include "launch/git_folder.h"

#include <algorithm>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/unique_fd.h"

namespace dlaunch {

namespace {

constexpr off_t kMostBytes = off_t{1} << 20;

std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

std::string from(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + '/' + path;
}

/// Of what ".git" is, the folder that all worktrees of the repository share.
std::string common_folder(const std::string& top, const std::string& git, bool is_folder) {
  std::string folder = git;
  if (!is_folder) {
    constexpr std::string_view kWord = "gitdir: ";
    const std::string line = first_line(read_ignore_file(git));
    if (!line.starts_with(kWord)) return git;
    folder = from(top, line.substr(kWord.size()));
  }
  const std::string common = first_line(read_ignore_file(folder + "/commondir"));
  return common.empty() ? folder : from(folder, common);
}

}  // namespace

std::optional<GitFolder> find_git_folder(const std::string& folder) {
  for (std::string top = folder;;) {
    const std::string git = (top == "/" ? "" : top) + "/.git";
    struct stat info {};
    if (::stat(git.c_str(), &info) == 0 && (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode)))
      return GitFolder{top, common_folder(top, git, S_ISDIR(info.st_mode)) + "/info/exclude"};
    if (top == "/") return std::nullopt;
    const std::size_t slash = top.rfind('/');
    top.resize(slash == 0 ? 1 : slash);
  }
}

std::string read_ignore_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode) || info.st_size > kMostBytes) return {};
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t n = ::pread(fd.get(), text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

}  // namespace dlaunch
