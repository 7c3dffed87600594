#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

#include "agent/guardian.h"
#include "launch/connect/connector.h"

namespace dlaunch {

namespace {

// Room for a burst of output or of exits without a switch between engine and agent at every frame.
constexpr int kSocketBuffer = 1 << 20;

}  // namespace

Result<Connection> connect_local(NodeIndex node, std::uint64_t session, bool pid_namespace) {
  auto ends = make_socket_pair(SOCK_STREAM);
  if (!ends) return tl::unexpected(ends.error());
  auto& [ours, theirs] = *ends;
  for (const int fd : {ours.get(), theirs.get()}) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBuffer, sizeof kSocketBuffer);
  }
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(exit_code::kInternal, "fork", errno);
  if (pid == 0) {
    ours.reset();
    AgentOptions options;
    options.write = duplicate(theirs.get());
    options.read = std::move(theirs);
    options.node = node.value;
    options.session = session;
    options.pid_namespace = pid_namespace;
    ::_exit(guardian_main(std::move(options)));
  }
  Connection connection;
  connection.write = duplicate(ours.get());
  connection.read = std::move(ours);
  connection.process = pid;
  return connection;
}

}  // namespace dlaunch
