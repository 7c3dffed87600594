// Asks Slurm what it does with the job that dlaunch runs in, once a signal has come.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/command_output.h"
#include "model/environment.h"
#include "os/event_loop.h"
#include "spec/slurm_state.h"

namespace dlaunch {

/// The end of the job's time by scontrol, for a Slurm that does not tell it (before 23.02), within
/// 1 s; nullopt: it is not known, or there is none. `environment` has SLURM_JOB_ID. Where no event
/// loop runs.
[[nodiscard]] std::optional<SlurmTime> ask_slurm_end(const Environment& environment);

/// Two commands at once, each for 5 s at most, beside what the loop does else. Lives on one thread.
class SlurmInquiry {
 public:
  /// `environment`: of a run in an allocation, else nothing is ever asked.
  SlurmInquiry(EventLoop& loop, const Environment& environment);

  using Answer = std::function<void(const SlurmNotice&)>;
  /// Calls once with what is known, which may be nothing; not at all while another question is
  /// under way, or outside of an allocation.
  void ask(Answer answer);
  [[nodiscard]] bool is_asking() const { return answer_ != nullptr; }

 private:
  void heard();

  EventLoop& loop_;
  SlurmSignal signal_;
  std::vector<std::string> environment_;
  Answer answer_;
  std::optional<SlurmState> state_;
  bool knows_config_ = false;
  std::unique_ptr<RunningCommand> of_job_;
  std::unique_ptr<RunningCommand> of_config_;
};

}  // namespace dlaunch
