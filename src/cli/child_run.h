// A run of a job inside another command, as `dlaunch scale` and `dlaunch bench` make them: the
// ordinary front and engine in a child process.
#pragma once

#include <functional>
#include <string>

#include "launch/engine/run_engine.h"
#include "model/result.h"

namespace dlaunch {

struct ChildRun {
  int exit_code = 0;          // what `dlaunch run` would have returned
  bool told_to_stop = false;  // INT, TERM, HUP or QUIT came while it ran
};

/// Takes a line, without its end. Its error ends the run.
using OnLine = std::function<Status(const std::string&)>;

/// Does what `dlaunch run` does, front and all, in a child of this process, and waits until nothing
/// of it is left; it is stopped when this process ends. With `on_line`, its stdout is a pipe whose
/// lines are given to that, in this process; else it is this process's. Signals of the terminal
/// reach the child by themselves; those that another process has sent to this one are passed on.
/// stdin is the run's where rank 0 is to have it. Errors: that of `on_line`; kInternal where there
/// is no child to be had, or a line does not end. Must be called before any thread exists.
[[nodiscard]] Result<ChildRun> run_in_child(const RunOptions& options, const OnLine& on_line = {});

}  // namespace dlaunch
