#include "os/job_tree.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <set>
#include <string>

#include "os/clock.h"
#include "os/containment.h"
#include "os/proc_file.h"
#include "os/stuck.h"

namespace dlaunch {

namespace {

bool has_ended(pid_t pid) {
  const char state = state_of(pid);
  return state == '\0' || state == 'Z' || state == 'X';
}

/// A guardian is not dumpable, so only root may read its /proc/PID/exe (proc(5)); but every user
/// may read its name (os/process_title.h).
bool is_guardian(pid_t pid) {
  return read_proc_file("/proc/" + std::to_string(pid) + "/comm").starts_with("dlaunch-guardia");
}

/// Children that run the same program: forks of the engine, or our binary started again.
std::vector<pid_t> own_children(pid_t pid, const std::string& program) {
  std::vector<pid_t> own = children_of(pid);
  std::erase_if(own, [&](pid_t child) { return program_of(child) != program; });
  return own;
}

struct LauncherTree {
  std::vector<pid_t> guardians;
  std::set<pid_t> agents;
};

LauncherTree launcher_tree(pid_t engine) {
  const std::string program = program_of(engine);
  LauncherTree tree;
  if (program.empty()) return tree;
  tree.guardians = children_of(engine);
  std::erase_if(tree.guardians, [&](pid_t child) {
    const std::string own = program_of(child);
    return own.empty() ? !is_guardian(child) : own != program;
  });
  for (const pid_t guardian : tree.guardians) {
    const auto agents = own_children(guardian, program);
    tree.agents.insert(agents.begin(), agents.end());
  }
  return tree;
}

}  // namespace

pid_t child_numbered(pid_t parent, pid_t number) {
  for (const pid_t child : children_of(parent)) {
    const std::string status = read_proc_file("/proc/" + std::to_string(child) + "/status", 4096);
    if (number_in_own_namespace(status) == number) return child;
  }
  return 0;
}

std::string program_of(pid_t pid) {
  return link_target("/proc/" + std::to_string(pid) + "/exe");
}

bool runs_command(pid_t pid, const std::vector<std::string>& argv) {
  std::string expected;
  for (const std::string& argument : argv) expected.append(argument).push_back('\0');
  // Reads one byte more than expected: a longer command line is a different command.
  const std::string file = "/proc/" + std::to_string(pid) + "/cmdline";
  return read_proc_file(file, expected.size() + 1) == expected;
}

void kill_tree(pid_t root) {
  for (const pid_t child : children_of(root)) kill_tree(child);
  ::kill(root, SIGKILL);
}

std::vector<pid_t> job_processes(pid_t engine) {
  const LauncherTree tree = launcher_tree(engine);
  std::vector<pid_t> found;
  std::set<pid_t> seen;
  std::vector<pid_t> open = tree.guardians;
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (const pid_t child : children_of(parent)) {
      if (!seen.insert(child).second) continue;
      open.push_back(child);
      if (!tree.agents.contains(child) && !has_ended(child)) found.push_back(child);
    }
  }
  return found;
}

std::vector<pid_t> kill_job_processes(pid_t engine, std::chrono::milliseconds limit) {
  const MonotonicTime end = monotonic_now() + limit;
  const std::vector<pid_t> first = job_processes(engine);
  for (std::vector<pid_t> found = first; !found.empty(); found = job_processes(engine)) {
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
    if (monotonic_now() >= end || are_beyond_kill(found)) break;
    const timespec moment{0, 5'000'000};
    ::nanosleep(&moment, nullptr);
  }
  return first;
}

std::vector<pid_t> launcher_processes(pid_t engine) {
  const LauncherTree tree = launcher_tree(engine);
  std::vector<pid_t> found{engine};
  found.insert(found.end(), tree.guardians.begin(), tree.guardians.end());
  found.insert(found.end(), tree.agents.begin(), tree.agents.end());
  return found;
}

}  // namespace dlaunch
