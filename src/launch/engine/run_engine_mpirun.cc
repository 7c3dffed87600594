// mpirun as the one who starts the ranks: begun when all nodes await them; what it prints goes to
// mpirun.log in the attempt's folder, and to the console as long as nothing has gone wrong: of what
// has, our own report tells, and quotes it where it is the cause.
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "launch/engine/run_engine.h"
#include "os/write_all.h"

namespace dlaunch {

void RunEngine::begin_mpirun(const LaunchPlan& plan) {
  mpirun_ = MpirunWatch(plan);
  mpirun_is_quiet_ = options_.quiet;
  mpirun_log_.reset();
}

/// True: it was of mpirun.
bool RunEngine::hear_mpirun(NodeIndex from, const wire::Message& message) {
  if (const auto* awaited = std::get_if<wire::RanksAwaited>(&message)) {
    if (const auto start = mpirun_.awaited(from, *awaited)) sessions_.send(NodeIndex(0), *start);
    return true;
  }
  const auto* output = std::get_if<wire::MpirunOutput>(&message);
  if (output == nullptr) return false;
  if (from.value != 0 || !plan_ || output->attempt != plan_->attempt) return true;
  log_mpirun(output->bytes);
  show_mpirun(mpirun_.add(*output));
  return true;
}

void RunEngine::mpirun_ended(event::MpirunEnded& end) {
  if (!plan_ || end.attempt != plan_->attempt) return;
  show_mpirun(mpirun_.rest());
  end.said = mpirun_.said();
}

void RunEngine::show_mpirun(const std::vector<std::string>& lines) {
  if (mpirun_is_quiet_) return;
  for (const std::string& line : lines) say("[mpirun] " + line);
}

void RunEngine::log_mpirun(const std::string& bytes) {
  if (!mpirun_log_) {
    const std::string path = attempt_folder_ + "/mpirun.log";
    mpirun_log_.reset(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  // The ranks have files of their own; what mpirun says of itself is no reason to end them.
  if (mpirun_log_) (void)write_all(mpirun_log_.get(), bytes);
}

}  // namespace dlaunch
