#include "report/run_state.h"

namespace dlaunch {

bool is_here(const RunWitness& witness) {
  if (!witness.record || witness.record->boot_id != witness.boot_id) return false;
  return !witness.boot_id.empty() || witness.record->host == witness.host;
}

RunState state_of_run(const RunWitness& witness) {
  if (witness.ending) {
    if (witness.ending->exit_code == 0) return RunState::done;
    return witness.ending->cause == "cancelled" ? RunState::stopped : RunState::failed;
  }
  if (witness.alive_lock == LockSeen::held)
    return witness.stopping_lock == LockSeen::held ? RunState::stopping : RunState::running;
  if (!witness.record) return RunState::lost;
  const bool same_host = witness.record->host == witness.host;
  if (!is_here(witness) && !same_host) return RunState::unknown;
  return is_here(witness) && witness.engine_exists ? RunState::running : RunState::lost;
}

const char* name_of(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::stopping:
      return "stopping";
    case RunState::done:
      return "done";
    case RunState::failed:
      return "failed";
    case RunState::stopped:
      return "stopped";
    case RunState::lost:
      return "lost";
    case RunState::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace dlaunch
