#include "node/sync/git_folder.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/proc_file.h"
#include "os/unique_fd.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr off_t kMostBytes = off_t{1} << 20;
constexpr std::size_t kMostRef = 4096;
constexpr std::size_t kMostPackedRefs = std::size_t{8} << 20;

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

/// The first line of a small file; empty if there is none.
std::string line_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  const std::string text = read_proc_file(path, kMostRef);
  return text.substr(0, text.find_first_of("\r\n"));
}

bool is_commit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string packed(const std::string& folder, const std::string& ref) {
  const std::string text = read_proc_file(folder + "/packed-refs", kMostPackedRefs);
  const std::size_t at = text.find(' ' + ref + '\n');
  const std::size_t begin = at == std::string::npos ? at : text.rfind('\n', at);
  if (at == std::string::npos) return "";
  const std::size_t first = begin == std::string::npos ? 0 : begin + 1;
  return text.substr(first, at - first);
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
    return fail(exit_code::kPreflight,
                "sync: " + path + ": " + why +
                    "\n         the files that it excludes would be copied to the nodes");
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

GitState read_git(const std::string& folder) {
  const auto git = find_git_folder(folder);
  if (!git) return {};
  GitState state;
  const std::string head = line_of(git->own + "/HEAD");
  constexpr std::string_view kRef = "ref: ";
  if (head.starts_with(kRef)) {
    const std::string ref = head.substr(kRef.size());
    if (ref.find("..") != std::string::npos) return {};
    constexpr std::string_view kBranches = "refs/heads/";
    state.branch = ref.starts_with(kBranches) ? ref.substr(kBranches.size()) : ref;
    state.commit = line_of(git->common + '/' + ref);
    if (!is_commit(state.commit)) state.commit = packed(git->common, ref);
  } else {
    state.commit = head;
  }
  return is_commit(state.commit) ? state : GitState{};
}

}  // namespace dlaunch
