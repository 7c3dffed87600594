// The processes of a job below a launcher's engine, found from outside of the agents: for the case
// that engine or agent cannot end them because they wait for a file system. Thread-safety: free
// functions without state.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dlaunch {

/// The path of the program that a process executes; empty if it has ended or may not be looked at
/// (proc(5), /proc/PID/exe).
[[nodiscard]] std::string program_of(pid_t pid);

/// Everything below the guardians and agents on this machine that belong to this engine: ranks and
/// what they have started. Those that have ended, and wait for their parent only, are not among
/// them.
[[nodiscard]] std::vector<pid_t> job_processes(pid_t engine);

/// SIGKILL to all of them, again and again until none is left that a signal can end, at most for
/// `limit`. Returns those that were there when it began.
std::vector<pid_t> kill_job_processes(pid_t engine, std::chrono::milliseconds limit);

/// The engine with its guardians and agents.
[[nodiscard]] std::vector<pid_t> launcher_processes(pid_t engine);

}  // namespace dlaunch
