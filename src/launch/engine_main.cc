#include "launch/engine_main.h"

#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "launch/run_job.h"
#include "model/signal_names.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/signals.h"

namespace dlaunch {

namespace {

SupervisorConfig supervisor_config(const JobSpec& spec, std::size_t nodes) {
  SupervisorConfig config;
  config.nodes = static_cast<std::uint32_t>(nodes);
  config.stop_signal = signal_number(spec.stop_signal).value_or(SIGTERM);
  config.stop_grace = spec.timeouts.stop;
  config.run_limit = spec.timeouts.run;
  config.connect_limit = spec.timeouts.connect;
  config.success = spec.success;
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
  // Before anything else: forking is only safe, and cheap, while this process is young.
  auto local = fork_local_agent();
  if (!local) return give_up(local.error());
  redirect_to_null({STDIN_FILENO});  // the front reads the user's stdin

  RunEngine engine(options, std::move(*local), std::move(front_link));
  if (const Status opened = engine.open_run_folder(); !opened) {
    engine.finish(opened.error());
    return opened.error().exit_code;
  }
  Supervisor supervisor(supervisor_config(options.spec, 1));
  const Result<RunReport> report = run_job(engine, supervisor);
  if (!report) {
    engine.finish(report.error());
    return report.error().exit_code;
  }
  engine.finish(*report);
  ::_exit(report->exit_code);  // the kernel takes everything down quicker than destructors do
}

}  // namespace dlaunch
