// Where the processes of ranks stand, from several sources. Runs in a side process of the agent
// (node/side_process.h), because what it reads may hang; it forks and waits.
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
  std::string path;      // a PATH where py-spy is looked for, after the rank's own
  std::string brought;   // the launcher's py-spy, for where there is no other; empty: none
  MonotonicTime end{0};  // no source begins anything that may last longer
  bool native = false;   // frames of C, C++ and Fortran of programs in Python too
};

/// Adds to what earlier sources have found. What it cannot find out becomes a remark.
using StackSource = void (*)(const StackRequest& request, std::vector<RankStacks>& ranks);

/// /proc: the processes and threads of each rank, their states and system calls. The first of all
/// sources: the others add frames to these threads.
void read_proc_stacks(const StackRequest& request, std::vector<RankStacks>& ranks);

/// py-spy (https://github.com/benfred/py-spy) in its mode that stops nothing: frames of Python.
void add_python_stacks(const StackRequest& request, std::vector<RankStacks>& ranks);

/// ptrace(2), libunwind and ELF files: frames of C, C++ and Fortran. Stops each thread for a
/// moment. So in Python programs it looks at all threads only if it is asked to, and otherwise only
/// at a main thread that uses the CPU while a library whose waits spin is loaded: that interrupts
/// no system call. Runs after add_python_stacks(): where the interpreter begins depends on Python's
/// frames.
void add_native_stacks(const StackRequest& request, std::vector<RankStacks>& ranks);

[[nodiscard]] bool is_python(pid_t pid);

}  // namespace dlaunch
