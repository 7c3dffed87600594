// What has become of a run, from what is left to be seen of it. Pure.
#pragma once

#include <optional>

#include "os/file_lock.h"
#include "report/run_ending.h"
#include "report/run_record.h"

namespace dlaunch {

enum class RunState {
  running,
  stopping,  // its ranks are being ended
  done,
  failed,
  stopped,  // by Ctrl-C, a signal or `dlaunch stop`
  lost,     // its launcher is gone and could not say how it ended
  unknown,  // on another machine, whose locks are not seen from here
};

/// All of it as seen from this machine. The lock and the process must be looked at before
/// summary.json: an engine that ends in between has written that.
struct RunWitness {
  std::optional<RunRecord> record;  // run.json
  std::optional<RunEnding> ending;  // summary.json
  LockSeen alive_lock = LockSeen::unknown;
  LockSeen stopping_lock = LockSeen::unknown;
  std::string host;            // this machine
  std::string boot_id;         // of this machine; empty: unknown
  bool engine_exists = false;  // a process with its pid and start time, on this machine
};

/// A summary is the last word. Else a lock that is held proves that the engine lives, wherever it
/// is; on the machine of the run, so does its process. There, without either, it is gone: also when
/// the machine was started again (same name, other boot). From another machine a free lock proves
/// nothing.
[[nodiscard]] RunState state_of_run(const RunWitness& witness);

/// The machine of the run is this one, in this boot.
[[nodiscard]] bool is_here(const RunWitness& witness);

[[nodiscard]] const char* name_of(RunState);
[[nodiscard]] inline bool is_live(RunState state) {
  return state == RunState::running || state == RunState::stopping;
}

}  // namespace dlaunch
