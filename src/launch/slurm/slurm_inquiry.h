// Asks Slurm about the job that dlaunch runs in, after a signal: time limit or preemption?
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "jobfile/slurm_state.h"
#include "model/environment.h"
#include "os/event_loop.h"
#include "os/program_output.h"

namespace dlaunch {

/// Asks scontrol for the end of the job's time, for a Slurm that does not set it in the environment
/// (before 23.02); takes at most 5 s. nullopt: unknown, or no limit. `environment` has
/// SLURM_JOB_ID. Call it while no event loop runs.
[[nodiscard]] std::optional<SlurmTime> ask_slurm_end(const Environment& environment);

/// Runs two commands at once on the loop, each for 5 s at most. Lives on one thread.
class SlurmInquiry {
 public:
  /// `environment`: outside an allocation, ask() does nothing.
  SlurmInquiry(EventLoop& loop, const Environment& environment);

  enum class About : std::uint8_t { warning, ending };
  using Answer = std::function<void(const SlurmNotice&)>;
  /// Calls `answer` once with what is known, which may be nothing. While a question is open, others
  /// are dropped, but one about an ending replaces one about a warning: the warning's answer may be
  /// older than the signal that ends the job.
  void ask(About about, Answer answer);
  [[nodiscard]] bool is_asking() const { return answer_ != nullptr; }

 private:
  void heard();

  EventLoop& loop_;
  SlurmSignal signal_;
  Environment environment_;
  About about_ = About::warning;
  Answer answer_;  // for the open question; empty: there is none
  std::optional<SlurmState> state_;
  bool knows_config_ = false;
  std::unique_ptr<RunningProgram> of_job_;
  std::unique_ptr<RunningProgram> of_config_;
};

}  // namespace dlaunch
