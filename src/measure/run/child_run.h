// A run of a job inside another command, as `dlaunch scale` and `dlaunch bench` need it: the
// ordinary front and engine in a child process.
#pragma once

#include <functional>
#include <string>

#include "launch/engine/run_request.h"
#include "model/result.h"

namespace dlaunch {

struct ChildRun {
  int exit_code = 0;          // what `dlaunch run` would have returned
  bool told_to_stop = false;  // INT, TERM, HUP or QUIT came while it ran
};

/// Takes a line, without its newline. Its error ends the run.
using OnLine = std::function<Status(const std::string&)>;

/// Does what `dlaunch run` does, including the front, in a child of this process, and waits until
/// all its processes are gone; the run is stopped when this process ends. With `on_line`, its
/// stdout is a pipe whose lines go to `on_line` in this process; else it shares the stdout of this
/// process. Signals of the terminal reach the child directly; signals that another process sends to
/// this one are forwarded. The run gets stdin if the job gives it to rank 0. Errors: that of
/// `on_line`; kInternal if the child cannot be created, or a line exceeds 64 MiB. Must be called
/// before any thread exists.
[[nodiscard]] Result<ChildRun> run_in_child(const RunOptions& options, const OnLine& on_line = {});

}  // namespace dlaunch
