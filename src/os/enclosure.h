// Where the ranks of an agent live, and how all of them are ended at once: nowhere special, in a
// cgroup v2 folder of their own, or in a PID namespace of which the agent is init.
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

  /// Makes the cgroup if there is no PID namespace and one is delegated to us, and removes those
  /// that killed agents have left. Must be called before each attempt. A cgroup is used again only
  /// if nobody was killed in it: Linux up to 6.18 at least lets what begins in it afterwards
  /// (CLONE_INTO_CGROUP) die at once, because it compares the count of kills with that of the
  /// caller's cgroup (kernel/cgroup/cgroup.c, cgroup_css_set_fork, cgroup_post_fork).
  void prepare();

  /// -1: the ranks get no cgroup of their own.
  [[nodiscard]] int cgroup_fd() const { return fill_cgroup_ ? cgroup_->fd() : -1; }
  /// The kernel refused it for a process: those that follow go without, too.
  void fill_cgroup_no_more() { fill_cgroup_ = false; }
  /// Folder of that cgroup; empty without one.
  [[nodiscard]] std::string cgroup_path() const { return cgroup_ ? cgroup_->path() : ""; }
  /// For SpawnRequest::outer_proc; -1: pids here are those of the node.
  [[nodiscard]] int outer_proc() const { return outer_proc_.get(); }

  /// SIGKILL to every descendant, once. Returns those that were found by walking; what was forked
  /// meanwhile is hit too where there is an enclosure. `spared` are not, except in a PID namespace.
  std::vector<pid_t> kill_once(const std::set<pid_t>& spared = {});

  /// After the last process has ended. Also done by the destructor.
  void remove();

 private:
  void make_cgroup();
  void remove_cgroup();

  bool prepared_ = false;
  std::string parent_;  // in which cgroups can be made and used; else empty
  bool fill_cgroup_ = false;
  bool killed_ = false;  // in cgroup_
  std::optional<RankCgroup> cgroup_;
  bool to_sweep_ = false;  // a cgroup without an owner was not empty yet
  UniqueFd outer_proc_;
};

}  // namespace dlaunch
