#include <algorithm>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

#include "agent/guardian.h"
#include "launch/connect/connector.h"
#include "os/containment.h"

namespace dlaunch {

namespace {

// Room for a burst of output or of exits without a switch between engine and agent at every frame.
constexpr int kSocketBuffer = 1 << 20;
constexpr std::int64_t kMostGraceMs = 24 * 3600 * 1000;

/// Opened before the fork: later the child may have another parent.
LauncherWatch watch_of_launcher(const AttachedFront& front) {
  LauncherWatch watch;
  watch.engine.reset(open_pidfd(::getpid()));
  if (watch.engine) watch.engine_pid = ::getpid();
  if (front.pid > 0) watch.front.reset(open_pidfd(front.pid));
  watch.grace_ms = static_cast<std::uint32_t>(
      std::min<std::int64_t>(std::chrono::milliseconds(front.stop_grace).count(), kMostGraceMs));
  return watch;
}

}  // namespace

Result<Connection> connect_local(NodeIndex node, std::uint64_t session, bool pid_namespace,
                                 const AttachedFront& front) {
  auto ends = make_socket_pair(SOCK_STREAM);
  if (!ends) return tl::unexpected(ends.error());
  auto& [ours, theirs] = *ends;
  for (const int fd : {ours.get(), theirs.get()}) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBuffer, sizeof kSocketBuffer);
  }
  AgentOptions options;
  options.launcher = watch_of_launcher(front);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(exit_code::kInternal, "fork", errno);
  if (pid == 0) {
    ours.reset();
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
