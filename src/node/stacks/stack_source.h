// Finds out where the processes of ranks stand, from several sources. Runs in a side process of the
// agent (node/side_process.h), because what it reads may hang; it forks and waits.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "model/stacks.h"
#include "model/time.h"

namespace dlaunch {

struct RankProcess {
  Rank rank;
  pid_t pid = 0;  // 0: it has none
};

struct StackRequest {
  std::vector<RankProcess> ranks;
  std::string path;      // a PATH to search for py-spy after the rank's own
  std::string brought;   // the launcher's py-spy, for where there is no other; empty: none
  MonotonicTime end{0};  // no source begins anything that may last longer
  int broker = -1;       // start_memory_broker(); -1: none is needed, or none could be started
  bool native = false;   // also C, C++ and Fortran frames of Python programs
};

/// Adds to what earlier sources have found. Reports what it cannot find out as a remark.
using StackSource = void (*)(const StackRequest& request, std::vector<RankStacks>& ranks);

/// /proc: the processes and threads of each rank, their states and system calls. It runs before all
/// other sources, which add frames to these threads.
void read_proc_stacks(const StackRequest& request, std::vector<RankStacks>& ranks);

/// py-spy (https://github.com/benfred/py-spy) in its non-blocking mode, which stops no process:
/// frames of Python.
void add_python_stacks(const StackRequest& request, std::vector<RankStacks>& ranks);

/// ptrace(2), libunwind and ELF files: frames of C, C++ and Fortran. Stops each thread for a
/// moment. In Python programs, it therefore looks at all threads only if asked to. Otherwise it
/// looks only at a main thread that uses the CPU while a library is loaded whose waits spin; this
/// interrupts no system call. Runs after add_python_stacks(), because which frames belong to the
/// interpreter depends on Python's frames.
void add_native_stacks(const StackRequest& request, std::vector<RankStacks>& ranks);

[[nodiscard]] bool is_python(pid_t pid);

}  // namespace dlaunch
