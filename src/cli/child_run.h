// A run of a job inside another command: `dlaunch scale` makes several.
#pragma once

#include <string>

#include "launch/engine/run_engine.h"
#include "model/result.h"

namespace dlaunch {

struct ChildRun {
  int exit_code = 0;          // what `dlaunch run` would have returned
  std::string summary;        // the content of its summary.json; empty: there is none
  bool told_to_stop = false;  // INT, TERM, HUP or QUIT came while it ran
};

/// Does what `dlaunch run` does, front and all, in a child of this process, and waits for its end;
/// it ends with this process, too. Signals of the terminal reach the child by themselves; those
/// that another process has sent to this one are passed on. Must be called before any thread
/// exists.
[[nodiscard]] Result<ChildRun> run_in_child(RunOptions options);

}  // namespace dlaunch
