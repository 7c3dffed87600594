#include "launch/engine/engine_main.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "launch/engine/run_engine.h"
#include "launch/engine/run_job.h"
#include "model/signal_names.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/process_title.h"
#include "os/signals.h"
#include "plan/make_plan.h"

namespace dlaunch {

namespace {

// A free port is very rarely taken between finding and using it; three times in a row means
// another cause.
constexpr std::uint32_t kPortRetries = 3;
// Margin for the session to report a loss after lost_after: it counts silence in heartbeats.
constexpr Duration kSilenceIsSeen = std::chrono::seconds(3);

SupervisorConfig supervisor_config(const JobSpec& spec, const std::vector<NodeTarget>& nodes) {
  SupervisorConfig config;
  config.nodes.clear();
  for (const NodeTarget& node : nodes) {
    config.nodes.emplace(NodeId(static_cast<std::uint32_t>(config.nodes.size())), node.host.name);
    // A silent node is lost, and may return; one that answers but never becomes empty is useless.
    if (!node.is_local())
      config.end_limit = std::max(config.end_limit, spec.timeouts.lost_after + kSilenceIsSeen);
  }
  if (has_membership(spec)) {
    // Ranks whose number is fixed do not fit on fewer nodes.
    const bool is_fixed = spec.processes || !spec.roles.empty();
    config.nodes_wanted = static_cast<std::uint32_t>(spec.nodes->max);
    config.nodes_needed = is_fixed ? config.nodes_wanted : static_cast<std::uint32_t>(spec.nodes->min);
  }
  config.stop_signal = signal_number(spec.stop_signal).value_or(SIGTERM);
  config.stop_grace = spec.timeouts.stop;
  config.run_limit = spec.timeouts.run;
  config.connect_limit = spec.timeouts.connect;
  config.return_limit = spec.timeouts.node_return;
  config.mpi_init_optional = spec.mpi.init == Mpi::Init::optional;
  config.stragglers_limit = spec.timeouts.stragglers_after_success;
  config.restart = spec.restart;
  // A port that the user chose must not be changed.
  config.port_retries = fixed_ports(spec).empty() ? kPortRetries : 0;
  return config;
}

int give_up(const Error& error) {
  std::fprintf(stderr, "dlaunch: %s\n", error.message.c_str());
  return error.exit_code;
}

}  // namespace

int engine_main(const RunOptions& options, UniqueFd front_link) {
  take_all_signals();
  become_subreaper();
  set_process_title("dlaunch: engine");  // inherited by guardian and agent
  // Before anything else: forking is only safe, and cheap, while this process is young.
  HandOver hand_over(options.detach);
  hand_over.before_fork();
  // A detached run does not end with its front.
  const pid_t front = options.detach ? 0 : ::getppid();
  auto local = fork_local_agents(options.spec, {front, options.spec.timeouts.stop});
  hand_over.agents_forked();
  if (!local) return give_up(local.error());
  redirect_to_null({STDIN_FILENO});  // the front reads the user's stdin

  const SupervisorConfig config = supervisor_config(options.spec, local->targets);
  RunEngine engine(options, std::move(*local), std::move(front_link), std::move(hand_over));
  if (const Status opened = engine.open_run_folder(); !opened) {
    engine.finish(opened.error());
    return opened.error().exit_code;
  }
  Supervisor supervisor(config);
  const Result<RunReport> report =
      run_job(engine, supervisor, {config.stop_grace, config.end_limit});
  if (!report) {
    engine.finish(report.error());
    return report.error().exit_code;
  }
  ::_exit(engine.finish(*report));  // the kernel frees everything faster than destructors
}

}  // namespace dlaunch
