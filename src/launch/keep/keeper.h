// The keeper: the process that `dlaunch up` leaves behind. It holds a session without ranks with
// the agent of each node, so that a dead node is noticed and a lost connection is resumed as in a
// run; it ends that session when a run wants the node, and hands the run the connection, over which
// the agent serves the run's own session. When the run is done, the keeper begins another session.
//
// The keeper listens only on a unix socket of the user (keeper_socket.h). When the keeper dies,
// each idle agent ends with its lease, like the agent of any launcher that died.
#pragma once

#include "model/job_spec.h"
#include "os/unique_fd.h"

namespace dlaunch {

struct KeeperOptions {
  JobSpec spec;  // its hosts (resolved), connect and timeouts are used
  Duration idle_limit{};
  bool may_ask = false;  // the front has a terminal on which ssh's questions can be asked
  bool quiet = false;
};

/// Runs in a process without threads that leads its own session. Connects to all nodes, or to none;
/// if to none, says why on stderr and returns the exit code. Once all are connected, it leaves the
/// terminal, tells the front so, and goes on until the idle limit, `dlaunch down` or SIGTERM.
[[nodiscard]] int keeper_main(const KeeperOptions& options, UniqueFd front_link);

}  // namespace dlaunch
