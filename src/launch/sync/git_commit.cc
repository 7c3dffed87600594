#include "launch/sync/git_commit.h"

#include <string_view>

#include <sys/stat.h>

#include "launch/sync/git_folder.h"
#include "os/proc_file.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostRef = 4096;
constexpr std::size_t kMostPackedRefs = std::size_t{8} << 20;

/// The first line of a small file, "" where there is none.
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
