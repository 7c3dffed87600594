#include "launch/engine/run_job.h"

#include <algorithm>

namespace dlaunch {

namespace {

constexpr const char* kDoesNotEnd =
    "internal error: the run did not end when told to; dlaunch now kills all its processes";

std::optional<MonotonicTime> earlier(std::optional<MonotonicTime> one,
                                     std::optional<MonotonicTime> other) {
  return one && other ? std::min(one, other) : (one ? one : other);
}

Status perform_all(Engine& engine, const std::vector<Action>& actions, RunReport& report) {
  for (const Action& action : actions) {
    if (const auto* finish = std::get_if<action::Finish>(&action)) report = finish->report;
    if (const Status done = engine.perform(action); !done) return done;
  }
  return {};
}

}  // namespace

Result<RunReport> run_job(Engine& engine, Supervisor& supervisor, EndLimits limits) {
  RunReport report;
  LastLimit last_limit(limits);
  Status status = perform_all(engine, supervisor.start(engine.now()), report);
  while (status && !supervisor.done()) {
    const Result<Event> event = engine.wait(earlier(supervisor.deadline(), last_limit.due()));
    if (!event) return tl::unexpected(event.error());
    last_limit.note(*event, engine.now());
    const std::vector<Action> actions = supervisor.on(*event, engine.now());
    engine.tell(*event);
    status = perform_all(engine, actions, report);
    if (status && !supervisor.done() && last_limit.is_over(engine.now()))
      status = fail(exit_code::kInternal, kDoesNotEnd);
  }
  if (!status) return tl::unexpected(status.error());
  return report;
}

}  // namespace dlaunch
