// Asks Slurm what it does with the job that dlaunch runs in, once a signal has come.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/slurm/command_output.h"
#include "model/environment.h"
#include "os/event_loop.h"
#include "spec/slurm_state.h"

namespace dlaunch {

/// The end of the job's time by scontrol, for a Slurm that does not tell it (before 23.02), within
/// 5 s; nullopt: it is not known, or there is none. `environment` has SLURM_JOB_ID. Where no event
/// loop runs.
[[nodiscard]] std::optional<SlurmTime> ask_slurm_end(const Environment& environment);

/// Two commands at once, each for 5 s at most, beside what the loop does else. Lives on one thread.
class SlurmInquiry {
 public:
  /// `environment`: of a run in an allocation, else nothing is ever asked.
  SlurmInquiry(EventLoop& loop, const Environment& environment);

  enum class About : std::uint8_t { warning, ending };
  using Answer = std::function<void(const SlurmNotice&)>;
  /// Calls once with what is known, which may be nothing; not at all outside of an allocation, and
  /// of several questions at once only the first: but one about an ending takes the place of one
  /// about a warning, to which the answer may be from before the signal that ends.
  void ask(About about, Answer answer);
  [[nodiscard]] bool is_asking() const { return answer_ != nullptr; }

 private:
  void heard();

  EventLoop& loop_;
  SlurmSignal signal_;
  std::vector<std::string> environment_;
  About about_ = About::warning;
  Answer answer_;  // of the question under way; empty: none is
  std::optional<SlurmState> state_;
  bool knows_config_ = false;
  std::unique_ptr<RunningCommand> of_job_;
  std::unique_ptr<RunningCommand> of_config_;
};

}  // namespace dlaunch
