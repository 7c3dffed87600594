#include "launch/sync/git_folder.h"

#include <algorithm>
#include <cerrno>
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

GitFolder folder_of(const std::string& top, const std::string& git, bool is_folder) {
  std::string own = git;
  if (!is_folder) {
    constexpr std::string_view kWord = "gitdir: ";
    const std::string line = first_line(read_ignore_file(git).value_or(""));
    if (!line.starts_with(kWord)) return {top, git, git};
    own = from(top, line.substr(kWord.size()));
  }
  const std::string common = first_line(read_ignore_file(own + "/commondir").value_or(""));
  return {top, own, common.empty() ? own : from(own, common)};
}

}  // namespace

std::optional<GitFolder> find_git_folder(const std::string& folder) {
  for (std::string top = folder;;) {
    const std::string git = (top == "/" ? "" : top) + "/.git";
    struct stat info {};
    if (::stat(git.c_str(), &info) == 0 && (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode)))
      return folder_of(top, git, S_ISDIR(info.st_mode));
    if (top == "/") return std::nullopt;
    const std::size_t slash = top.rfind('/');
    top.resize(slash == 0 ? 1 : slash);
  }
}

Result<std::string> read_ignore_file(const std::string& path) {
  const auto cannot = [&](const std::string& why) {
    return fail(exit_code::kPreflight, "sync: " + path + ": " + why +
                                           "\n         what it names would be copied to the nodes");
  };
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  const bool is_none = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO;
  if (!fd && is_none) return "";
  if (!fd || ::fstat(fd.get(), &info) != 0) return cannot(errno_text(errno));
  if (!S_ISREG(info.st_mode)) return "";
  if (info.st_size > kMostBytes) return cannot("larger than 1 MiB");
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n =
        ::pread(fd.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot(errno_text(errno));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

}  // namespace dlaunch
