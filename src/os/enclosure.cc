#include "os/enclosure.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "os/containment.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kSweepLimit{2};

}  // namespace

Enclosure::~Enclosure() {
  remove();
}

void Enclosure::prepare() {
  if (outer_proc_) return;  // the namespace does all that a cgroup could
  if (!prepared_) {
    prepared_ = true;
    parent_ = own_cgroup_folder().value_or("");
    make_cgroup();
    // Kills abandoned processes now; waits for their end only at the end of the run.
    if (cgroup_ && !sweep_abandoned_cgroups(parent_, std::chrono::milliseconds(0)))
      to_sweep_ = true;
  } else if (killed_) {
    remove_cgroup();
    make_cgroup();
  }
}

void Enclosure::make_cgroup() {
  if (parent_.empty()) return;
  cgroup_ = RankCgroup::make(parent_);
  fill_cgroup_ = cgroup_.has_value();
  killed_ = false;
}

std::vector<pid_t> Enclosure::kill_once(const std::set<pid_t>& spared) {
  std::vector<pid_t> found = descendants(spared);
  if (outer_proc_ && spared.empty()) {
    // kill(2): every process that we may signal, except init, which is us. None can fork past it.
    ::kill(-1, SIGKILL);
    return found;
  }
  if (cgroup_) cgroup_->kill();
  killed_ = true;
  // Also kills those that have left the cgroup for another one.
  kill_these(found, spared);
  return found;
}

pid_t Enclosure::outer_pid(pid_t pid) const {
  if (!outer_proc_) return pid;
  // "Pid:" in /proc/PID/fdinfo is the pid as the /proc that we read numbers it (proc(5)).
  const UniqueFd process(open_pidfd(pid));
  const std::string path = "self/fdinfo/" + std::to_string(process.get());
  const UniqueFd file(::openat(outer_proc_.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[256];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
  const std::string_view info(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  constexpr std::string_view kKey = "\nPid:\t";
  const std::size_t at = info.find(kKey);
  pid_t outer = 0;
  if (at != std::string_view::npos)
    std::from_chars(info.data() + at + kKey.size(), info.data() + info.size(), outer);
  return outer > 0 ? outer : pid;
}

void Enclosure::take_out(pid_t pid) const {
  if (fill_cgroup_) move_to_cgroup(parent_, pid);
}

void Enclosure::take_in(pid_t pid) const {
  if (fill_cgroup_) move_to_cgroup(cgroup_->path(), pid);
}

void Enclosure::remove_cgroup() {
  // If it cannot be removed yet, the sweep will find it abandoned.
  if (cgroup_ && !cgroup_->remove()) to_sweep_ = true;
  cgroup_.reset();
  fill_cgroup_ = false;
}

void Enclosure::remove() {
  remove_cgroup();
  if (to_sweep_) sweep_abandoned_cgroups(parent_, kSweepLimit);
  to_sweep_ = false;
}

}  // namespace dlaunch
