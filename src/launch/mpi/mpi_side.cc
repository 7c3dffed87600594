#include "launch/mpi/mpi_side.h"

#include <utility>

#include <fcntl.h>

#include "os/write_all.h"

namespace dlaunch {

void MpiSide::begin(const LaunchPlan& plan) {
  attempt_ = plan.attempt;
  first_ = plan.nodes.front().id;
  relay_ = PmixRelay(plan);
  mpirun_ = MpirunWatch(plan);
  is_quiet_ = options_.quiet;
  log_.reset();
}

void MpiSide::deliver(const std::vector<PmixRelay::Letter>& letters) {
  for (const PmixRelay::Letter& letter : letters) {
    for (const NodeId node : letter.to) nodes_.send(node, letter.message);
  }
}

void MpiSide::on(NodeId node, const wire::RanksAwaited& awaited) {
  if (const auto start = mpirun_.awaited(node, awaited)) nodes_.send(first_, *start);
}

void MpiSide::on(NodeId node, const wire::MpirunOutput& output) {
  if (node != first_ || output.attempt != attempt_) return;
  log(output.bytes);
  show(mpirun_.add(output));
}

void MpiSide::complete(event::StarterEnded& end) {
  if (end.attempt != attempt_) return;
  show(mpirun_.rest());
  end.said = mpirun_.said();
}

void MpiSide::tell(const Event& event) {
  const auto* exited = std::get_if<event::RankExited>(&event);
  if (exited != nullptr && !exited->status.ok()) hush();
}

void MpiSide::show(const std::vector<std::string>& lines) {
  if (is_quiet_) return;
  for (const std::string& line : lines) screen_.say("[mpirun] " + line);
}

void MpiSide::log(const std::string& bytes) {
  if (!log_) {
    const std::string path = store_.attempt_folder() + "/mpirun.log";
    log_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  // The ranks have their own files; a log that cannot be written does not end the run.
  if (log_) (void)write_all(log_.get(), bytes);
}

}  // namespace dlaunch
