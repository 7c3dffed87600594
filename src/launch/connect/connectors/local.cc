// This machine: a fork at the start, before there are threads, and later our own program.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <sys/socket.h>
#include <unistd.h>

#include "launch/connect/connector.h"
#include "launch/connect/remote_script.h"
#include "node/guardian.h"
#include "os/containment.h"

namespace dlaunch {

namespace {

// Room for a burst of output or of exits, so that engine and agent need not switch at every frame.
constexpr int kSocketBuffer = 1 << 20;
constexpr std::int64_t kMostGraceMs = 24 * 3600 * 1000;

/// Opened before the fork: afterwards the child may have another parent.
LauncherWatch watch_of_launcher(const AttachedFront& front) {
  LauncherWatch watch;
  watch.engine.reset(open_pidfd(::getpid()));
  if (watch.engine) watch.engine_pid = ::getpid();
  if (front.pid > 0) watch.front.reset(open_pidfd(front.pid));
  watch.grace_ms = static_cast<std::uint32_t>(
      std::min<std::int64_t>(std::chrono::milliseconds(front.stop_grace).count(), kMostGraceMs));
  return watch;
}

/// As on another node, but without a shell. The file at the path may be another build by now;
/// /proc/self/exe is always this build, but `ps` would show that name.
Result<std::vector<std::string>> argv(const Connect&, const HostSpec&,
                                      const ConnectRequest& request) {
  const std::string own = "/proc/self/exe";
  std::error_code unknown;
  const std::string path = std::filesystem::read_symlink(own, unknown).string();
  const bool same = !unknown && std::filesystem::equivalent(path, own, unknown);
  std::vector<std::string> argv = {same ? path : own, "agent",
                                   "--session",       session_text(request.session),
                                   "--node",          std::to_string(request.node.value)};
  if (request.pid_namespace) argv.emplace_back("--pid-namespace");
  return argv;
}

ConnectFailure failure(const ConnectEnd& end) {
  const std::string said = telling_line(end.errors);
  return {ConnectFailure::Kind::final,
          "its agent ended before it was ready" + (said.empty() ? "" : ": " + said)};
}

}  // namespace

extern const Connector kLocalConnector;
const Connector kLocalConnector{.name = Connect::Via::local,
                                .can_attach = false,
                                .program = [](const Connect&) { return std::string("dlaunch"); },
                                .argv = argv,
                                .failure = failure,
                                .end = [](const ConnectEnd&) { return LastWords(); }};

Result<Connection> connect_local(NodeId node, std::uint64_t session, bool pid_namespace,
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
  connection.read = std::move(ours);
  connection.process = pid;
  return connection;
}

}  // namespace dlaunch
