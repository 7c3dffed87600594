// A cgroup v2 folder for the ranks of an agent, if our own cgroup is delegated to us: then we may
// make folders in it (the kernel's admin-guide/cgroup-v2.rst, "Delegation"). Writing to cgroup.kill
// (Linux 5.14) ends everything in a cgroup at once, however fast it forks. If any of this is
// missing, dlaunch works without a cgroup and does not say so.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "os/unique_fd.h"

namespace dlaunch {

/// The path in the text of /proc/<pid>/cgroup (cgroups(7)): in the v2 hierarchy
/// ("0::/user.slice/..."), or in the v1 hierarchy of `controller`. nullopt: there is none, or it is
/// outside our cgroup namespace.
[[nodiscard]] std::optional<std::string> cgroup_path(std::string_view text,
                                                     std::string_view controller = "");

/// Absolute folder of this process's own cgroup in the v2 hierarchy, which is mounted at
/// /sys/fs/cgroup, or at /sys/fs/cgroup/unified beside v1 ("hybrid"); nullopt if there is none.
[[nodiscard]] std::optional<std::string> own_cgroup_folder();

class RankCgroup {
 public:
  /// Makes a folder "dlaunch-..." below `parent` and locks it (flock(2)), which shows others that
  /// its owner lives. Takes about 30 microseconds.
  [[nodiscard]] static std::optional<RankCgroup> make(const std::string& parent);

  RankCgroup(RankCgroup&&) noexcept = default;
  RankCgroup& operator=(RankCgroup&&) noexcept = default;

  /// The descriptor for CLONE_INTO_CGROUP.
  [[nodiscard]] int fd() const { return folder_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Sends SIGKILL to all processes in it and below it.
  void kill() const;
  /// Removes it and what was made below it; true if it is gone. Fails while a process lives in it.
  [[nodiscard]] bool remove() const;

 private:
  RankCgroup(std::string path, UniqueFd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  UniqueFd folder_;
};

/// Moves a process to the cgroup of this folder, if the kernel allows it.
void move_to_cgroup(const std::string& folder, pid_t pid);

/// Ends and removes the folders below `parent` whose owners were killed. Waits up to `limit` for
/// the last process in them; false: some are left.
bool sweep_abandoned_cgroups(const std::string& parent, std::chrono::milliseconds limit);
/// The same below our own cgroup. Does nothing if there is none.
void sweep_abandoned_cgroups();

}  // namespace dlaunch
