// What encloses the ranks of an agent so that all can be killed at once: a PID namespace whose init
// is the agent, a cgroup v2 folder, or nothing.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "os/cgroup.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Belongs to the agent's one thread.
class Enclosure {
 public:
  Enclosure() = default;
  /// `outer_proc`: what enter_pid_namespace() returned, in the init process of the namespace.
  explicit Enclosure(UniqueFd outer_proc) : outer_proc_(std::move(outer_proc)) {}
  ~Enclosure();
  Enclosure(const Enclosure&) = delete;
  Enclosure& operator=(const Enclosure&) = delete;

  /// Call before each attempt. Makes the cgroup if there is no PID namespace and a cgroup is
  /// delegated to us, and removes cgroups that killed agents have left behind. A cgroup in which a
  /// process was killed is not used again: Linux up to at least 6.18 immediately kills what is then
  /// started in it (CLONE_INTO_CGROUP), because it compares the cgroup's count of kills with that
  /// of the caller's cgroup (kernel/cgroup/cgroup.c, cgroup_css_set_fork, cgroup_post_fork).
  void prepare();

  /// -1: the ranks get no cgroup of their own.
  [[nodiscard]] int cgroup_fd() const { return fill_cgroup_ ? cgroup_->fd() : -1; }
  /// Call when the kernel has refused the cgroup for a process: later processes start without it.
  void stop_using_cgroup() { fill_cgroup_ = false; }
  /// Folder of that cgroup; empty without one.
  [[nodiscard]] std::string cgroup_path() const { return fill_cgroup_ ? cgroup_->path() : ""; }
  /// For SpawnRequest::outer_proc; -1: pids here are those of the node.
  [[nodiscard]] int outer_proc() const { return outer_proc_.get(); }
  /// The pid that a process has on the node; `pid` itself if its number there is the same, or if
  /// the process has ended.
  [[nodiscard]] pid_t outer_pid(pid_t pid) const;

  /// take_out() moves a rank's child process out of the ranks' cgroup, so that the child survives
  /// kill_once(); take_in() moves a process into it. Both do nothing without a cgroup.
  void take_out(pid_t pid) const;
  void take_in(pid_t pid) const;

  /// Sends SIGKILL to every descendant, once. Returns those that a walk found; an enclosure also
  /// kills those forked during the walk, unless it is a PID namespace and some are spared.
  std::vector<pid_t> kill_once(const std::set<pid_t>& spared = {});

  /// Call after the last process has ended; the destructor does it too.
  void remove();

 private:
  void make_cgroup();
  void remove_cgroup();

  bool prepared_ = false;
  std::string parent_;  // folder in which cgroups can be made and used, or empty
  bool fill_cgroup_ = false;
  bool killed_ = false;  // a process in cgroup_ was killed
  std::optional<RankCgroup> cgroup_;
  bool to_sweep_ = false;  // an abandoned cgroup was not empty yet
  UniqueFd outer_proc_;
};

}  // namespace dlaunch
