#include "runs/prune_runs.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <limits>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clear_folder.h"
#include "os/clock.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// A run that was written to within this time counts as written to since the boot.
constexpr std::chrono::hours kQuiet{24};

WallTime boot_time() {
  timespec up{};
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  return wall_now() - std::chrono::seconds(up.tv_sec);
}

/// When something was last written about the run.
WallTime last_change(const RunView& run) {
  WallTime last = run.witness.record ? run.witness.record->started : WallTime{};
  for (const char* name : {"/run.json", "/events.jsonl", "/summary.json"}) {
    struct stat info {};
    if (::lstat((run.path + name).c_str(), &info) != 0) continue;
    last = std::max(last, WallTime(std::chrono::seconds(info.st_mtim.tv_sec)));
  }
  if (run.state != RunState::lost) return last;
  // A run of another machine that seems lost may still be running, and write only output.
  for (const std::uint32_t attempt : attempts_of(run.path)) {
    std::error_code error;
    const std::string folder = run.path + "/attempt-" + std::to_string(attempt);
    for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
      struct stat info {};
      if (::lstat(file.path().c_str(), &info) != 0) continue;
      last = std::max(last, WallTime(std::chrono::seconds(info.st_mtim.tv_sec)));
    }
  }
  return last;
}

/// The id that dlaunch has written into the folder.
std::string name_inside(const RunView& run) {
  if (run.witness.record) return run.witness.record->run;
  return run.witness.ending ? run.witness.ending->run : "";
}

/// The folder, locked where its file system has locks (flock(2)); else why it must stay.
tl::expected<UniqueFd, std::string> open_to_remove(const std::string& path, bool only_looks) {
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!folder || ::fstat(folder.get(), &info) != 0) {
    const int error = errno;
    const bool is_link = ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    return tl::unexpected(is_link ? "it is a link" : errno_text(error));
  }
  if (info.st_uid != ::geteuid())
    return tl::unexpected("it belongs to user " + std::to_string(info.st_uid));
  const int lock = only_looks ? LOCK_SH : LOCK_EX;
  if (::flock(folder.get(), lock | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return tl::unexpected(std::string("another process uses it"));
  return folder;
}

/// Removes last the files that identify the folder as a run's: run.json, then summary.json, which
/// says how the run ended.
int remove_folder(const std::string& path, const UniqueFd& folder) {
  if (const int error = clear_folder(folder, [] {}, {"run.json", "summary.json"}); error != 0)
    return error;
  for (const char* name : {"run.json", "summary.json"}) {
    if (::unlinkat(folder.get(), name, 0) != 0 && errno != ENOENT) return errno;
  }
  return ::rmdir(path.c_str()) == 0 ? 0 : errno;
}

PrunedRun prune(RunView seen, const PruneRule& rule, WallTime boot) {
  PrunedRun pruned{std::move(seen), 0, "", false};
  const std::string path = pruned.run.path;
  const auto folder = open_to_remove(path, rule.dry_run);
  if (!folder) {
    pruned.kept = folder.error();
    return pruned;
  }
  // Looks again, now that the folder is locked.
  const auto now = read_run_state(path);
  pruned.kept = now ? why_kept(*now, last_change(*now), boot) : now.error().message;
  if (now && name_inside(*now) != file_name(path))
    pruned.kept = "its files belong to another run: \"" + plain_line(name_inside(*now)) + '"';
  if (!pruned.kept.empty()) return pruned;
  pruned.bytes = bytes_below(*folder);
  if (rule.dry_run) return pruned;
  if (const int error = remove_folder(path, *folder); error != 0) {
    pruned.failed = true;
    pruned.kept = "cannot remove it completely: " + errno_text(error);
  }
  return pruned;
}

}  // namespace

std::string why_kept(const RunView& run, WallTime last, WallTime boot) {
  // Its engine may still write after the summary.
  if (run.witness.alive_lock == LockSeen::held || is_live(run.state)) return "it is running";
  if (run.state == RunState::unknown) return state_text(run);
  if (run.state != RunState::lost || !run.witness.record) return "";
  // Another machine may have the same name. A run that ended with an earlier boot of this machine
  // has written nothing since this boot.
  if (!is_here(run.witness) && last >= boot)
    return "it may be running on another machine with the same name as this one";
  // A container on this machine has its own processes and host name.
  if (!run.witness.record->locked && run.witness.record->host != run.witness.host)
    return "it may be running in a container of this machine";
  return "";
}

Pruning prune_runs(const RunFolders& folders, const PruneRule& rule) {
  Pruning pruning;
  FoundRuns found = list_runs(folders, std::numeric_limits<std::size_t>::max());
  pruning.notes = std::move(found.notes);
  pruning.unreadable = std::move(found.unreadable);
  const WallTime now = wall_now();
  const WallTime boot = std::min(boot_time(), now - kQuiet);
  for (std::size_t i = std::min(rule.keep.value_or(0), found.runs.size()); i < found.runs.size();
       ++i) {
    RunView& run = found.runs[i];
    if (rule.older && now - last_change(run) < *rule.older) continue;
    pruning.runs.push_back(prune(std::move(run), rule, boot));
  }
  return pruning;
}

}  // namespace dlaunch
