// The process trees of a job: what a process executes, which processes belong to a launcher's
// engine, and how to kill a tree. Works from outside the agents too, for when the engine or an
// agent waits for a file system and cannot end the ranks itself. Thread-safety: free functions
// without state.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dlaunch {

/// Path of the program that a process executes; empty if it has ended or may not be inspected
/// (proc(5), /proc/PID/exe).
[[nodiscard]] std::string program_of(pid_t pid);

/// Whether the process still executes exactly this command. A shell whose script ends with a plain
/// command becomes that command; its children are then the user's (data loaders).
[[nodiscard]] bool runs_command(pid_t pid, const std::vector<std::string>& argv);

/// The child of `parent` whose pid in its own PID namespace is `number`; 0: none.
[[nodiscard]] pid_t child_numbered(pid_t parent, pid_t number);

/// SIGKILL to the process and to everything that is below it now.
void kill_tree(pid_t root);

/// Everything below the guardians and agents of this engine on this machine: ranks and what they
/// have started, except zombies.
[[nodiscard]] std::vector<pid_t> job_processes(pid_t engine);

/// Sends SIGKILL to all job_processes() until none is left that a signal can end, for at most
/// `limit`. Returns those that existed at the beginning.
std::vector<pid_t> kill_job_processes(pid_t engine, std::chrono::milliseconds limit);

/// The engine with its guardians and agents.
[[nodiscard]] std::vector<pid_t> launcher_processes(pid_t engine);

}  // namespace dlaunch
