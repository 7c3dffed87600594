// The engine's part of `dlaunch run --detach`: it leaves the caller's terminal once all ranks have
// started. Its later messages go to a file in the run folder.
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class HandOver {
 public:
  explicit HandOver(bool wanted) : wanted_(wanted) {}

  /// Call before the agents are forked: they get a file in memory for stderr instead of the
  /// caller's, because a `$(...)` pipe or an SSH session would wait until that is closed.
  /// Undone by agents_forked().
  void before_fork();
  void agents_forked();

  /// One more of the `ranks` ranks of `attempt` has started. True once, when all have: then call
  /// let_go().
  [[nodiscard]] bool rank_started(Attempt attempt, std::size_t ranks);
  /// Points stdout and stderr to `file` (0600, appended to).
  [[nodiscard]] Status let_go(const std::string& file);

  /// The front has reported that its end no longer ends the run.
  void accept() { accepted_ = true; }
  [[nodiscard]] bool accepted() const { return accepted_; }

  /// What the agents wrote to stderr: nothing, unless they fail.
  [[nodiscard]] std::string agent_errors() const;

 private:
  bool wanted_;
  bool accepted_ = false;
  Attempt attempt_;
  std::size_t started_ = 0;  // ranks of that attempt
  UniqueFd agent_stderr_;
  UniqueFd own_stderr_;
};

}  // namespace dlaunch
