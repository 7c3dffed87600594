#include "launch/discover.h"

#include <csignal>

#include <unistd.h>

#include "launch/cluster_sessions.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/signals.h"
#include "os/unique_fd.h"

namespace dlaunch {

Result<Cluster> discover_cluster(const JobSpec& spec) {
  ensure_standard_descriptors();
  // SIGPIPE: an agent that is gone is an error to report, not our end.
  block_signals({SIGCHLD, SIGPIPE});
  become_subreaper();
  const std::vector<pid_t> before = children_of(::getpid());
  auto local = fork_local_agents(spec);
  if (!local) return tl::unexpected(local.error());
  EventLoop loop;
  std::size_t ready = 0;
  Status status;
  ClusterSessions sessions(loop, spec, std::move(*local),
                           {[&](const Event& event) {
                              if (std::holds_alternative<event::NodeReady>(event)) ++ready;
                              if (const auto* lost = std::get_if<event::NodeLost>(&event)) {
                                status = fail(exit_code::kNodeLost, lost->what);
                              }
                            },
                            [](const wire::OutputView&) {}, [](const wire::OutputEnd&) {},
                            [](const wire::StdinTaken&) {}, [](const std::string&) {}});
  for (std::size_t node = 0; node < sessions.size(); ++node)
    sessions.connect(NodeIndex(static_cast<std::uint32_t>(node)));
  const MonotonicTime end = monotonic_now() + spec.timeouts.connect;
  while (status && ready < sessions.size() && monotonic_now() < end) loop.run_one(end);
  if (status && ready < sessions.size())
    status = fail(exit_code::kNodeLost, "no answer from the agent");
  sessions.release_all();
  while (!sessions.all_ended() && monotonic_now() < end) loop.run_one(end);
  sessions.reap_processes({before.begin(), before.end()});
  if (!status) return tl::unexpected(status.error());
  return sessions.cluster();
}

}  // namespace dlaunch
