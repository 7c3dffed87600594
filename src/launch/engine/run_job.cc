#include "launch/engine/run_job.h"

namespace dlaunch {

namespace {

Status perform_all(Engine& engine, const std::vector<Action>& actions, RunReport& report) {
  for (const Action& action : actions) {
    if (const auto* finish = std::get_if<action::Finish>(&action)) report = finish->report;
    if (const Status done = engine.perform(action); !done) return done;
  }
  return {};
}

}  // namespace

Result<RunReport> run_job(Engine& engine, Supervisor& supervisor) {
  RunReport report;
  Status status = perform_all(engine, supervisor.start(engine.now()), report);
  while (status && !supervisor.done()) {
    const Result<Event> event = engine.wait(supervisor.deadline());
    if (!event) return tl::unexpected(event.error());
    status = perform_all(engine, supervisor.on(*event, engine.now()), report);
  }
  if (!status) return tl::unexpected(status.error());
  return report;
}

}  // namespace dlaunch
