#include "node/session/attach.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/acceptor.h"
#include "os/cgroup.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/packet.h"
#include "os/proc_file.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

// The guardian ends right after its agent.
constexpr int kGuardianLimitMs = 5000;

/// Waits for the agent's end. True: it has sent its farewell.
bool wait_for_farewell(int socket) {
  char byte = 0;
  while (true) {
    const ssize_t n = ::read(socket, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    return n == 1 && byte == kFarewell;
  }
}

/// A pidfd of the guardian: the parent of the agent, which has called listen(2).
UniqueFd guardian_behind(int socket) {
  const pid_t agent = peer_process(socket);
  if (agent <= 0) return {};
  const std::string stat = read_proc_file("/proc/" + std::to_string(agent) + "/stat");
  const std::string_view parent = stat_field(stat, 4);
  pid_t guardian = 0;
  std::from_chars(parent.data(), parent.data() + parent.size(), guardian);
  return guardian > 1 ? UniqueFd(open_pidfd(guardian)) : UniqueFd();
}

void wait_for_process(const UniqueFd& process) {
  pollfd end{process.get(), POLLIN, 0};
  if (process) ::poll(&end, 1, kGuardianLimitMs);
}

int no_agent(const std::string& marker, const SessionFound& found) {
  // If agent and guardian were killed together, only this process can still end the daemons in
  // their cgroup.
  if (found.certain) sweep_abandoned_cgroups();
  std::fprintf(stderr, "dlaunch: %s\n", found.gone.c_str());
  write_all(STDOUT_FILENO, marker + (found.certain ? " gone " : " hidden ") + found.gone + '\n');
  return found.certain ? kSessionGone : kSessionHidden;
}

}  // namespace

int attach_main(SessionId id, const std::string& marker) {
  const SessionFound found = find_session(session_folders(), id);
  if (!found.connection) return no_agent(marker, found);
  const UniqueFd guardian = guardian_behind(found.connection.get());
  // Written before the agent can send anything.
  if (write_all(STDOUT_FILENO, marker + " ready\n") != 0) return exit_code::kNodeLost;
  if (!send_packet(found.connection.get(), "d", {STDIN_FILENO, STDOUT_FILENO}))
    return exit_code::kNodeLost;
  // Only the agent may decide when the connection is closed.
  redirect_to_null({STDIN_FILENO, STDOUT_FILENO});
  // When this connection ends as intended, no process of the run may be left on the node, as with
  // the first connection, which ends with the guardian.
  if (wait_for_farewell(found.connection.get())) wait_for_process(guardian);
  return exit_code::kOk;
}

}  // namespace dlaunch
