// A program that is started beside a rank, for dlaunch attach: by the agent, or by the first
// process in the rank's container (node/containers/container_entry.h).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/environment.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "os/descriptors.h"
#include "os/terminal.h"
#include "os/unique_fd.h"
#include "wire/message.h"

namespace dlaunch {

/// What the program shares with the rank.
struct RankPlace {
  pid_t pid = 0;  // of the rank, as the program sees it
  Environment variables;
  std::string workdir;
  std::vector<int> cpus;     // empty: not bound
  OpenFileLimit open_files;  // of ranks
  int cgroup = -1;           // see SpawnRequest
  /// The rank, if it runs in a container: the container's first process starts the program and
  /// knows all of the above. nullopt: there is no container.
  std::optional<Rank> container;
};

/// The command, with `pid` in place of each "{pid}". Pure.
[[nodiscard]] std::vector<std::string> with_pid(std::vector<std::string> argv, pid_t pid);

/// The process that represents a rank: its leader, or the one command that a shell of ours waits
/// for. `own_shell`: the leader's command line if it is such a shell, else null.
[[nodiscard]] pid_t process_of_rank(pid_t leader, const std::vector<std::string>* own_shell);

/// What the program reads and writes; with a terminal, all three are the terminal.
struct BesideStreams {
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;
};
struct BesideTerminal {
  UniqueFd master;
  BesideStreams streams;
};
[[nodiscard]] tl::expected<BesideTerminal, StartFailure> make_beside_terminal(TerminalSize size);

/// Starts the program as leader of a session of its own. Returns its pid.
[[nodiscard]] tl::expected<pid_t, StartFailure> start_beside(const wire::OpenTerminal& request,
                                                             const RankPlace& place,
                                                             const BesideStreams& streams);

/// Our descendants in these sessions.
[[nodiscard]] std::vector<pid_t> members_of(const std::set<pid_t>& sessions);
/// Sends the signal to each process, and wakes those that are stopped.
void signal_each(const std::vector<pid_t>& processes, int number);

}  // namespace dlaunch
